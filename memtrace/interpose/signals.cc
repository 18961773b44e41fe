#include "interpose/signals.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

#include <atomic>

#include "interpose/start.h"
#include "report/report.h"
#include "trace/settings.h"

namespace octavo::memtrace {

namespace {

constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kEnding[] = {SIGTERM, SIGHUP};

constinit std::atomic<bool> serving{false};
sem_t liveWanted;

const char* nameOf(int number) {
  switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGFPE: return "SIGFPE";
    case SIGABRT: return "SIGABRT";
    case SIGTERM: return "SIGTERM";
    default: return "SIGHUP";
  }
}

/** Best effort: the thread may hold any lock. Then the signal takes its default course, core dump included. */
void onFatal(int number) {
  signal(number, SIG_DFL);
  if (isTracedProcess()) reportCrash(nameOf(number));
  raise(number);
}

void onLive(int) { sem_post(&liveWanted); }

void take(int number, void (*handler)(int)) {
  struct sigaction current = {};
  if (sigaction(number, nullptr, &current) != 0) return;
  if ((current.sa_flags & SA_SIGINFO) != 0 || current.sa_handler != SIG_DFL) return;
  struct sigaction ours = {};
  ours.sa_handler = handler;
  ours.sa_flags = SA_ONSTACK | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(number, &ours, nullptr);
}

void* serve(void*) {
  for (;;) {
    while (sem_wait(&liveWanted) != 0) {
    }
    reportLive();
  }
  return nullptr;
}

}  // namespace

void installSignals() {
  for (const int number : kFatal) take(number, onFatal);
  for (const int number : kEnding) {
    if (settings().term) take(number, onFatal);
  }
  if (!settings().live) return;
  sem_init(&liveWanted, 0, 0);
  take(SIGUSR2, onLive);
}

void restartSignals() {
  serving.store(false);
  if (settings().live) sem_init(&liveWanted, 0, 0);
}

void serveLiveReports() {
  if (!settings().live || serving.load(std::memory_order_relaxed) || serving.exchange(true)) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, serve, nullptr) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace octavo::memtrace
