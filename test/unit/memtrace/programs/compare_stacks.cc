// Walks many stacks by our tables and by libgcc's unwinder and compares the two, frame by frame. Prints how many
// stacks were compared and how many differed.
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "elf/own_code.h"
#include "stack/walk.h"

namespace octavo::memtrace {

bool isOwnCode(uintptr_t) { return false; }  // here the tracer's code is part of the program

}  // namespace octavo::memtrace

using octavo::memtrace::Frames;

static int compared;
static int differed;
static int fallbacks;

// Both see this function's callers; the innermost addresses are two calls in one line and are left out.
__attribute__((noinline)) static void compare() {
  Frames ours;
  const auto end = octavo::memtrace::walkStack(40, &ours);
  void* theirs[48];
  const int count = backtrace(theirs, 41) - 1;
  compared++;
  if (end.reason == octavo::memtrace::WalkEnd::kUnknownCode) {
    fallbacks++;
    return;
  }
  bool same = ours.count == count;
  for (int frame = 0; same && frame < count; frame++) same = ours.frame[frame] == (uint64_t)theirs[frame + 1];
  if (same) return;
  differed++;
  fprintf(stderr, "ours %d, theirs %d\n", ours.count, count);
  for (int frame = 0; frame < ours.count || frame < count; frame++) {
    fprintf(stderr, "  %#lx %p\n", frame < ours.count ? (long)ours.frame[frame] : 0,
            frame < count ? theirs[frame + 1] : nullptr);
  }
}

static int comparingOrder(const void* a, const void* b) {
  compare();
  return *(const int*)a - *(const int*)b;
}

__attribute__((noinline)) static int withAlloca(int bytes, void (*body)(int), int argument) {
  char* memory = (char*)alloca(bytes);  // the stack pointer is not constant: the frame needs a base register
  memset(memory, 1, bytes);
  body(argument);
  return memory[bytes / 2];
}

static int recurse(int depth, double x);
static void recurseAgain(int depth) { recurse(depth, depth * 1.5); }

__attribute__((noinline)) static int recurse(int depth, double x) {
  if (depth == 0) {
    compare();
    return (int)x;
  }
  const int below = depth % 3 == 0 ? withAlloca(depth * 16, recurseAgain, depth - 1)
                                   : recurse(depth - 1, x + depth);
  return below + depth;
}

struct Closing {
  ~Closing() { compare(); }
};

__attribute__((noinline)) static void thrower(int depth) {
  Closing closing;
  if (depth == 0) throw depth;
  thrower(depth - 1);
}

static void onSignal(int) { compare(); }

static void* inThread(void*) {
  recurse(20, 1.0);
  return nullptr;
}

__attribute__((destructor)) static void atEnd() {
  compare();
  printf("%d %d %d\n", compared, differed, fallbacks);
}

int main() {
  for (int depth = 0; depth < 30; depth++) recurse(depth, depth);
  int numbers[] = {5, 3, 9, 1, 7, 2, 8};
  qsort(numbers, 7, sizeof *numbers, comparingOrder);
  bsearch(numbers, numbers, 7, sizeof *numbers, comparingOrder);
  try {
    thrower(5);
  } catch (int) {
    compare();
  }
  pthread_t thread;
  pthread_create(&thread, nullptr, inThread, nullptr);
  pthread_join(thread, nullptr);
  signal(SIGUSR1, onSignal);
  raise(SIGUSR1);
  atexit(compare);
  return 0;
}
