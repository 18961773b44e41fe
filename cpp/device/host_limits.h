// How much memory and how many cores this process may use: the machine's, less what its cgroups forbid.
#pragma once

#include <cstddef>
#include <string>

namespace octavo {

struct HostMemory {
  size_t totalBytes = 0;  // the smaller of the machine and the tightest cgroup limit
  size_t freeBytes = 0;   // what could still be taken; reclaimable page cache counts as free
};

/** `root` is "/" but in tests: see cgroupMemory. */
HostMemory hostMemory(const std::string& root = "/");

/** Cores by affinity mask and cgroup CPU quota (rounded up); at least 1. */
int usableCores();

/** "AMD EPYC 9654 96-Core Processor", as the system names it; "CPU" when it does not. */
std::string processorName();

}  // namespace octavo
