#pragma once

#include <time.h>

#include <cstdint>

namespace octavo::memtrace {

/** Monotonic nanoseconds. */
inline int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

}  // namespace octavo::memtrace
