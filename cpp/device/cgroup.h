// The control groups this process is in, both hierarchies: v2's one tree, v1's tree a controller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace octavo {

struct CgroupMemory {
  size_t limitBytes = 0;  // memory.max, or memory.high where that is less: above it every allocation is throttled
  size_t usedBytes = 0;  // less the page cache, which the kernel gives back on demand
};

/**
 * The limit that leaves the least headroom from the process's own group up to the root; absent when nothing
 * limits it. `root` is "/" but in tests: everything is read below root + "proc/self" and the mounts named there.
 */
std::optional<CgroupMemory> cgroupMemory(const std::string& root = "/");

/** What befell a group since it was made. */
struct CgroupEvents {
  uint64_t high = 0, max = 0, oomKills = 0;
};

/** The folder of the process's own group in the hierarchy that counts memory; absent without one. */
std::optional<std::string> cgroupMemoryFolder(const std::string& root = "/");

/** Of a folder that `cgroupMemoryFolder` gave; zeros for what its files do not say. */
CgroupEvents cgroupEvents(const std::string& folder);

/** Cores' worth of CPU time a period, the tightest from the own group up; absent without a quota. */
std::optional<double> cgroupCores(const std::string& root = "/");

}  // namespace octavo
