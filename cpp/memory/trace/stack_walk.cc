#include "memory/trace/stack_walk.h"

#if !defined(_WIN32) && (defined(__x86_64__) || defined(__aarch64__))
#define OCTAVO_STACK_WALK
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace octavo {

#if defined(OCTAVO_STACK_WALK)

namespace {

/** Just past the highest address of this thread's stack; 0 where it cannot be told. Slow: once a thread. */
uintptr_t findStackEnd() noexcept {
#if defined(__APPLE__)
  return reinterpret_cast<uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
#else
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  size_t bytes = 0;
  const bool told = pthread_attr_getstack(&attributes, &lowest, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  return told ? reinterpret_cast<uintptr_t>(lowest) + bytes : 0;
#endif
}

uintptr_t stackEnd() noexcept {
  thread_local const uintptr_t end = findStackEnd();
  return end;
}

}  // namespace

// Both ABIs lay a frame out alike: the caller's frame pointer, then the return address. AddressSanitizer must
// not judge these reads: a wrong frame pointer leads into the red zones of other frames.
__attribute__((noinline, no_sanitize("address"))) StackFrames captureStack(int skip) noexcept {
  StackFrames frames{};
  const uintptr_t end = stackEnd();
  auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  uintptr_t least = frame;
  for (int found = 0; found < kStackFrames;) {
    const bool readable = frame >= least && frame % sizeof(uintptr_t) == 0 && frame < end &&
                          end - frame >= 2 * sizeof(uintptr_t);
    if (!readable) break;
    const auto* const words = reinterpret_cast<const uintptr_t*>(frame);
    constexpr uintptr_t kFirstPage = 4096;
    if (words[1] < kFirstPage) break;  // the thread's first frame
    if (skip > 0) {
      --skip;
    } else {
      frames[found++] = words[1];
    }
    least = frame + 2 * sizeof(uintptr_t);
    frame = words[0];
  }
  return frames;
}

#else

StackFrames captureStack(int) noexcept { return {}; }

#endif

uint32_t currentThread() noexcept {
#if defined(__linux__)
  thread_local const auto id = static_cast<uint32_t>(syscall(SYS_gettid));
  return id;
#elif defined(__APPLE__)
  uint64_t id = 0;
  pthread_threadid_np(nullptr, &id);
  return static_cast<uint32_t>(id);
#else
  return 0;
#endif
}

}  // namespace octavo
