// The control groups this process is in, both hierarchies: v2's one tree, v1's tree a controller.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace octavo {

struct CgroupMemory {
  size_t limitBytes = 0;
  size_t usedBytes = 0;  // less the page cache, which the kernel gives back on demand
};

/**
 * The limit that leaves the least headroom from the process's own group up to the root; absent when nothing
 * limits it. `root` is "/" but in tests: everything is read below root + "proc/self" and the mounts named there.
 */
std::optional<CgroupMemory> cgroupMemory(const std::string& root = "/");

/** Cores' worth of CPU time a period, the tightest from the own group up; absent without a quota. */
std::optional<double> cgroupCores(const std::string& root = "/");

}  // namespace octavo
