#include "machine/traps.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "machine/machine.h"

namespace octavo::emulator {

sigjmp_buf afterWork;

namespace {

constexpr int kSecondsAlone = 20;  // of computing, in which no thread of a launch waits
constexpr int kTimeSignal = SIGVTALRM;

alignas(16) uint8_t signalStack[64 << 10], leavingStack[4096];
void* left = nullptr;
uint64_t stepsBefore = 0;

/** The thread of the launch does not go on; the scheduler does, with these words. */
void leaveLaunch(const std::string& words, void* context) {
  Machine& machine = octavo::emulator::machine();
  machine.recordFailure(words);
  if (!running) siglongjmp(afterWork, 1);
#if defined(__x86_64__)
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RSP] = reinterpret_cast<greg_t>(leavingStack + sizeof(leavingStack) - 8);
  registers[REG_RDI] = reinterpret_cast<greg_t>(&left);
  registers[REG_RSI] = reinterpret_cast<greg_t>(machine.scheduler());
  registers[REG_RIP] = reinterpret_cast<greg_t>(octavoSwitchStacks);
#else
  (void)context;
  signal(SIGSEGV, SIG_DFL);
#endif
}

void onMemory(int, siginfo_t* info, void* context) {
  char words[96];
  std::snprintf(words, sizeof(words), "an access to %p, which is no memory of the device", info->si_addr);
  leaveLaunch(words, context);
}

void onTime(int, siginfo_t*, void* context) {
  const uint64_t steps = machine().steps();
  if (running && steps == stepsBefore) leaveLaunch("a thread that runs without end and does not wait", context);
  stepsBefore = steps;
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction* before) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(signal, &action, before);
}

}  // namespace

Traps::Traps() {
  stack_t mine{};
  mine.ss_sp = signalStack;
  mine.ss_size = sizeof(signalStack);
  sigaltstack(&mine, &stackBefore_);
  handle(SIGSEGV, onMemory, &memoryBefore_);
  handle(SIGBUS, onMemory, &busBefore_);
  handle(kTimeSignal, onTime, &timeBefore_);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kTimeSignal;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_);
  const itimerspec every{{kSecondsAlone, 0}, {kSecondsAlone, 0}};
  timer_settime(timer_, 0, &every, nullptr);
  stepsBefore = ~uint64_t{0};
}

Traps::~Traps() {
  timer_delete(timer_);
  sigaction(SIGSEGV, &memoryBefore_, nullptr);
  sigaction(SIGBUS, &busBefore_, nullptr);
  sigaction(kTimeSignal, &timeBefore_, nullptr);
  sigaltstack(&stackBefore_, nullptr);
}

}  // namespace octavo::emulator
