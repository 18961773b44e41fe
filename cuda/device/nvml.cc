#include "cuda/device/nvml.h"

#include <unistd.h>

#include <mutex>
#include <vector>

#include <dlfcn.h>

namespace octavo::cuda {
namespace {

// The few declarations of NVML's public interface that are used; its header is not needed to build.
struct ProcessInfo {
  unsigned pid;
  unsigned long long usedBytes;
  unsigned gpuInstance;
  unsigned computeInstance;
};
using DeviceHandle = void*;
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr unsigned long long kNotAvailable = ~0ull;

struct Nvml {
  int (*init)() = nullptr;
  int (*handleByBusId)(const char*, DeviceHandle*) = nullptr;
  int (*computeProcesses)(DeviceHandle, unsigned*, ProcessInfo*) = nullptr;
  bool ready = false;

  // Opened once and kept for the life of the process: the library does not like being unloaded.
  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    handleByBusId = reinterpret_cast<int (*)(const char*, DeviceHandle*)>(
        dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    computeProcesses = reinterpret_cast<int (*)(DeviceHandle, unsigned*, ProcessInfo*)>(
        dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3"));
    ready = init && handleByBusId && computeProcesses && init() == kSuccess;
  }
};

bool listProcesses(const Nvml& nvml, DeviceHandle device, std::vector<ProcessInfo>& processes) {
  unsigned count = 16;
  for (int attempt = 0; attempt < 4; ++attempt) {  // processes may start between two calls
    processes.resize(count);
    int status = nvml.computeProcesses(device, &count, processes.data());
    if (status == kSuccess) {
      processes.resize(count);
      return true;
    }
    if (status != kInsufficientSize) return false;
    count += 8;
  }
  return false;
}

}  // namespace

std::optional<size_t> processMemoryBytes(const std::string& pciBusId) {
  static std::mutex mutex;
  static const Nvml nvml;
  std::lock_guard lock(mutex);
  DeviceHandle device = nullptr;
  if (!nvml.ready || nvml.handleByBusId(pciBusId.c_str(), &device) != kSuccess) return std::nullopt;
  std::vector<ProcessInfo> processes;
  if (!listProcesses(nvml, device, processes)) return std::nullopt;
  for (const ProcessInfo& process : processes) {
    if (process.pid == static_cast<unsigned>(getpid()) && process.usedBytes != kNotAvailable) {
      return static_cast<size_t>(process.usedBytes);
    }
  }
  return std::nullopt;
}

}  // namespace octavo::cuda
