// How short of memory this process's host, or control group, is.
#pragma once

#include <cstdint>
#include <string>

#include "device/host_limits.h"

namespace octavo {

struct HostPressure {
  HostMemory memory;            // under the tightest limit
  /** Counters of the control group since it was made; 0 where there is none. */
  uint64_t highEvents = 0;      // it passed memory.high and was throttled
  uint64_t maxEvents = 0;       // it met memory.max
  uint64_t oomKills = 0;        // processes killed in it
  /** Share of the last 10 seconds, in percent, in which some or all tasks waited for memory (PSI). */
  double someStall = 0, fullStall = 0;
};

/**
 * Reads /proc and the control group's files; what is not there is 0. `root` is "/" but in tests, where everything is
 * read below it. Never throws but for want of memory; about twenty small reads.
 */
HostPressure hostPressure(const std::string& root = "/");

/** Bytes of this process that are in memory now; 0 where the system does not tell. */
size_t residentBytes();

}  // namespace octavo
