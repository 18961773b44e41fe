// Formats: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; proc(5), mountinfo.
#include "device/cgroup.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

namespace octavo {

namespace {

// v1 says "unlimited" with the largest page-aligned 64-bit number; nothing real comes near.
constexpr uint64_t kUnlimited = 1ull << 60;

/** A mounted hierarchy and this process's place in it. */
struct Hierarchy {
  std::string mount;  // absolute, without `root`
  std::string path;   // of the process below the mount; "" for the mount itself
  bool unified = false;
};

bool listHas(const std::string& list, const std::string& word) {
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    if (item == word) return true;
  }
  return false;
}

/** The process's path in the hierarchy of `controller` ("" = v2), from /proc/self/cgroup: "id:controllers:path". */
std::optional<std::string> ownPath(const std::string& root, const std::string& controller) {
  std::ifstream file(root + "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : listHas(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

/** A container sees its group as the mount's root: the mount then begins where the path does. */
std::string belowMount(const std::string& path, const std::string& mountRoot) {
  if (mountRoot != "/" && path.rfind(mountRoot, 0) == 0) return path.substr(mountRoot.size());
  return path == "/" ? "" : path;
}

std::optional<Hierarchy> findHierarchy(const std::string& root, const std::string& controller) {
  const std::optional<std::string> path = ownPath(root, controller);
  if (!path) return std::nullopt;
  std::ifstream file(root + "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string skip, mountRoot, mount, word, type, source, options;
    fields >> skip >> skip >> skip >> mountRoot >> mount;
    while (fields >> word && word != "-") {}
    fields >> type >> source >> options;
    const bool unified = type == "cgroup2";
    if (controller.empty() ? unified : type == "cgroup" && listHas(options, controller)) {
      return Hierarchy{mount, belowMount(*path, mountRoot), unified};
    }
  }
  return std::nullopt;
}

/** The folders of the process's group and of all above it, innermost first. */
std::vector<std::string> folders(const std::string& root, const Hierarchy& hierarchy) {
  const std::string mount = root + hierarchy.mount.substr(1);
  std::vector<std::string> found;
  std::string path = hierarchy.path;
  while (!path.empty()) {
    found.push_back(mount + path);
    path.erase(path.find_last_of('/'));
  }
  found.push_back(mount);
  return found;
}

std::optional<uint64_t> readNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;  // absent, or "max"
  return value;
}

uint64_t readStatistic(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string key;
  for (uint64_t value; file >> key >> value;) {
    if (key == name) return value;
  }
  return 0;
}

/** The hard limit or the throttling one, whichever is lower. */
std::optional<uint64_t> readLimit(const std::string& folder, bool unified) {
  const auto hard = readNumber(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto high = unified ? readNumber(folder + "/memory.high") : std::nullopt;
  if (!hard || !high) return hard ? hard : high;
  return std::min(*hard, *high);
}

std::optional<CgroupMemory> readMemory(const std::string& folder, bool unified) {
  const auto limit = readLimit(folder, unified);
  if (!limit || *limit >= kUnlimited) return std::nullopt;
  const uint64_t held = readNumber(folder + (unified ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  const std::string prefix = unified ? "" : "total_";  // v1: with the groups below
  const uint64_t cache = readStatistic(folder + "/memory.stat", prefix + "inactive_file") +
      readStatistic(folder + "/memory.stat", prefix + "active_file");
  return CgroupMemory{*limit, held > cache ? held - cache : 0};
}

std::optional<double> readCores(const std::string& folder, bool unified) {
  double quota = 0, period = 0;
  if (unified) {
    std::ifstream file(folder + "/cpu.max");  // "max 100000" or "200000 100000"
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    std::ifstream quotaFile(folder + "/cpu.cfs_quota_us"), periodFile(folder + "/cpu.cfs_period_us");
    if (!(quotaFile >> quota) || !(periodFile >> period)) return std::nullopt;  // −1: no quota
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

int64_t headroom(const CgroupMemory& memory) {
  return static_cast<int64_t>(memory.limitBytes) - static_cast<int64_t>(memory.usedBytes);
}

}  // namespace

std::optional<CgroupMemory> cgroupMemory(const std::string& root) {
  std::optional<CgroupMemory> tightest;
  for (const char* controller : {"", "memory"}) {
    const auto hierarchy = findHierarchy(root, controller);
    if (!hierarchy) continue;
    for (const std::string& folder : folders(root, *hierarchy)) {
      const auto memory = readMemory(folder, hierarchy->unified);
      if (memory && (!tightest || headroom(*memory) < headroom(*tightest))) tightest = memory;
    }
  }
  return tightest;
}

std::optional<std::string> cgroupMemoryFolder(const std::string& root) {
  for (const char* controller : {"memory", ""}) {  // v1 first: beside it v2 has no memory controller
    const auto hierarchy = findHierarchy(root, controller);
    if (hierarchy) return folders(root, *hierarchy).front();
  }
  return std::nullopt;
}

CgroupEvents cgroupEvents(const std::string& folder) {
  const std::string events = folder + "/memory.events";
  CgroupEvents found{readStatistic(events, "high"), readStatistic(events, "max"), readStatistic(events, "oom_kill")};
  if (const auto failures = readNumber(folder + "/memory.failcnt")) found.max = *failures;  // v1
  if (found.oomKills == 0) found.oomKills = readStatistic(folder + "/memory.oom_control", "oom_kill");
  return found;
}

std::optional<double> cgroupCores(const std::string& root) {
  std::optional<double> fewest;
  for (const char* controller : {"", "cpu"}) {
    const auto hierarchy = findHierarchy(root, controller);
    if (!hierarchy) continue;
    for (const std::string& folder : folders(root, *hierarchy)) {
      const auto cores = readCores(folder, hierarchy->unified);
      if (cores && (!fewest || *cores < *fewest)) fewest = cores;
    }
  }
  return fewest;
}

}  // namespace octavo
