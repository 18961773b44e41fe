// Formats: Linux Documentation/accounting/psi.rst and admin-guide/cgroup-v2.rst; proc(5).
#include "device/host_pressure.h"

#include <fstream>

#include "device/cgroup.h"

#if defined(__linux__)
#include <unistd.h>
#endif

namespace octavo {

namespace {

/** "some avg10=1.50 avg60=0.30 avg300=0.00 total=123" and the same for "full". */
void readStalls(const std::string& path, HostPressure& into) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find("avg10=");
    if (at == std::string::npos) continue;
    const double share = std::strtod(line.c_str() + at + 6, nullptr);
    if (line.rfind("some", 0) == 0) into.someStall = share;
    if (line.rfind("full", 0) == 0) into.fullStall = share;
  }
}

}  // namespace

HostPressure hostPressure(const std::string& root) {
  HostPressure pressure;
  pressure.memory = hostMemory(root);
  readStalls(root + "proc/pressure/memory", pressure);
  if (const auto folder = cgroupMemoryFolder(root)) {
    const CgroupEvents events = cgroupEvents(*folder);
    pressure.highEvents = events.high;
    pressure.maxEvents = events.max;
    pressure.oomKills = events.oomKills;
    readStalls(*folder + "/memory.pressure", pressure);  // our group's own, where it has one
  }
  return pressure;
}

size_t residentBytes() {
#if defined(__linux__)
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  if (file >> total >> resident) return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
#endif
  return 0;
}

}  // namespace octavo
