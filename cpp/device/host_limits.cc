#include "device/host_limits.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "device/cgroup.h"

#if defined(_WIN32)
#include <windows.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#else
#include <sched.h>
#endif

namespace octavo {

namespace {

#if defined(_WIN32)

HostMemory machineMemory(const std::string&) {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  GlobalMemoryStatusEx(&status);
  return {static_cast<size_t>(status.ullTotalPhys), static_cast<size_t>(status.ullAvailPhys)};
}

int affinityCores() { return static_cast<int>(std::thread::hardware_concurrency()); }

#elif defined(__APPLE__)

HostMemory machineMemory(const std::string&) {
  HostMemory memory;
  size_t length = sizeof memory.totalBytes;
  sysctlbyname("hw.memsize", &memory.totalBytes, &length, nullptr, 0);
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t words = HOST_VM_INFO64_COUNT;
  host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &words);
  memory.freeBytes = static_cast<size_t>(pages.free_count + pages.inactive_count) * vm_kernel_page_size;
  return memory;
}

int affinityCores() { return static_cast<int>(std::thread::hardware_concurrency()); }

#else

HostMemory machineMemory(const std::string& root) {
  HostMemory memory;
  std::ifstream file(root + "proc/meminfo");  // "MemAvailable:   24158132 kB"
  std::string key, unit;
  for (size_t kibibytes; file >> key >> kibibytes; std::getline(file, unit)) {
    if (key == "MemTotal:") memory.totalBytes = kibibytes * 1024;
    if (key == "MemAvailable:") memory.freeBytes = kibibytes * 1024;
  }
  return memory;
}

int affinityCores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return static_cast<int>(std::thread::hardware_concurrency());
  return CPU_COUNT(&mask);
}

#endif

}  // namespace

HostMemory hostMemory(const std::string& root) {
  HostMemory memory = machineMemory(root);
  const auto cgroup = cgroupMemory(root);
  if (!cgroup) return memory;
  const size_t headroom = cgroup->limitBytes > cgroup->usedBytes ? cgroup->limitBytes - cgroup->usedBytes : 0;
  return {std::min(memory.totalBytes, cgroup->limitBytes), std::min(memory.freeBytes, headroom)};
}

int usableCores() {
  int cores = affinityCores();
  if (const auto quota = cgroupCores()) cores = std::min(cores, static_cast<int>(std::ceil(*quota)));
  return std::max(cores, 1);
}

std::string processorName() {
#if defined(__APPLE__)
  char name[256] = {};
  size_t length = sizeof name - 1;
  if (sysctlbyname("machdep.cpu.brand_string", name, &length, nullptr, 0) == 0) return name;
#else
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
#endif
  return "CPU";
}

}  // namespace octavo
