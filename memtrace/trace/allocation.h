// One allocation, as remembered while it lives.
#pragma once

#include <cstdint>

#include "trace/kind.h"

namespace octavo::memtrace {

struct Allocation {
  uint64_t address;
  uint64_t bytes;
  /** From 1, over all kinds, in the order of recording. */
  uint64_t sequence;
  /** Monotonic nanoseconds. */
  int64_t time;
  uint64_t stream;
  /** The context current at the time; 0 when the driver named none. */
  uint64_t context;
  uint32_t stack;
  /** The kernel's thread id. */
  uint32_t thread;
  Kind kind;
};

}  // namespace octavo::memtrace
