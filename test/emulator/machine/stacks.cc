#include "machine/stacks.h"

#include <sys/mman.h>

#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace octavo::emulator {

#if defined(__x86_64__)

// Registers that a callee keeps (System V ABI, "Registers"). The rounding modes are the same everywhere.
asm(R"(
.text
.globl octavoSwitchStacks
.hidden octavoSwitchStacks
.type octavoSwitchStacks, @function
octavoSwitchStacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size octavoSwitchStacks, .-octavoSwitchStacks
)");

void* prepareStack(uint8_t* top, void (*entry)()) {
  void** at = reinterpret_cast<void**>(top);
  *--at = nullptr;  // where entry would return to: an entered function finds its stack 8 bytes off a multiple of 16
  *--at = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--at = nullptr;
  return at;
}

#else

extern "C" void octavoSwitchStacks(void** saved, void* next) {
  ucontext_t here;
  *saved = &here;
  swapcontext(&here, static_cast<ucontext_t*>(next));
}

void* prepareStack(uint8_t* top, void (*entry)()) {
  uint8_t* place = top - (sizeof(ucontext_t) + 63) / 64 * 64;
  ucontext_t* context = new (place) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = place - kStackBytes / 2;
  context->uc_stack.ss_size = kStackBytes / 2;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

#endif

uint8_t* Stacks::take() {
  if (free_.empty()) grow();
  uint8_t* top = free_.back();
  free_.pop_back();
  return top;
}

void Stacks::grow() {
  constexpr int kAtOnce = 64, kGuard = 4096, kColours = 32, kColourBytes = 448;
  void* memory = mmap(nullptr, size_t{kAtOnce} * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  for (int i = 0; i < kAtOnce; ++i) {
    uint8_t* low = static_cast<uint8_t*>(memory) + size_t{kStackBytes} * static_cast<size_t>(i);
    mprotect(low, kGuard, PROT_NONE);
    // Upper ends at the same distance from a page would compete for the same lines of the cache.
    uint8_t* top = low + kStackBytes - i % kColours * kColourBytes;
    all_.push_back(top);
    free_.push_back(top);
  }
}

}  // namespace octavo::emulator
