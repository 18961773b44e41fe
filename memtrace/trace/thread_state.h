// What the tracer keeps for a thread: plain words in static TLS, nothing to free when the thread ends.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace octavo::memtrace {

struct ThreadState {
  /** Traced calls this thread is inside of; the driver calls its own entry points too. */
  int depth;
  uint32_t id;
};

inline thread_local ThreadState threadState __attribute__((tls_model("initial-exec")));

inline uint32_t threadId() {
  if (threadState.id == 0) threadState.id = static_cast<uint32_t>(syscall(SYS_gettid));
  return threadState.id;
}

}  // namespace octavo::memtrace
