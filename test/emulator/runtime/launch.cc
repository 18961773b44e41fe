#include "runtime/launch.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "machine/machine.h"
#include "runtime/errors.h"
#include "runtime/streams.h"
#include "runtime/times.h"

namespace octavo::emulator {

namespace {

constexpr uint32_t kUnasked = 48 << 10;  // of dynamic shared memory

std::mutex mutex;
std::map<const void*, uint32_t> allowed;

uint32_t allowedBytes(const void* kernel) {
  std::lock_guard lock(mutex);
  const auto found = allowed.find(kernel);
  return found == allowed.end() ? kUnasked : std::max(found->second, kUnasked);
}

}  // namespace

LaunchSettings settingsOf(const char* name, const cudaLaunchConfig_t& config) {
  LaunchSettings settings{name, config.gridDim, config.blockDim, {1, 1, 1}, config.dynamicSmemBytes, config.stream};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != cudaLaunchAttributeClusterDimension) continue;
    const auto& size = attribute.val.clusterDim;
    settings.cluster = {size.x, size.y, size.z};
  }
  return settings;
}

cudaError_t launchKernel(const void* kernel, const LaunchSettings& settings, std::function<void()> thread) {
  const uint64_t clusterBlocks = uint64_t{settings.cluster.x} * settings.cluster.y * settings.cluster.z;
  if (settings.dynamicBytes > allowedBytes(kernel) || (OCTAVO_EMULATED_ARCHITECTURE < 90 && clusterBlocks > 1)) {
    return report(cudaErrorInvalidValue);
  }
  Launch launch;
  launch.kernel = settings.name;
  launch.grid = settings.grid;
  launch.block = settings.block;
  launch.cluster = settings.cluster;
  launch.dynamicBytes = static_cast<uint32_t>(settings.dynamicBytes);
  launch.body = [](const void* body) { (*static_cast<const std::function<void()>*>(body))(); };
  if (!canLaunch(launch)) return report(cudaErrorInvalidConfiguration);
  return enqueue(settings.stream, [launch, thread = std::move(thread)]() mutable {
    launch.arguments = &thread;
    const Timed timed(launch.kernel);
    const std::string failure = run(launch);
    if (failure.empty()) return cudaSuccess;
    std::fprintf(stderr, "octavo: emulated kernel %s\n", failure.c_str());
    return cudaErrorLaunchFailure;
  });
}

}  // namespace octavo::emulator

using namespace octavo::emulator;

extern "C" {

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;  // a wish
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      value > static_cast<int>(kMostDynamicBytes)) {
    return report(cudaErrorInvalidValue);
  }
  std::lock_guard lock(mutex);
  allowed[kernel] = static_cast<uint32_t>(value);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->ptxVersion = OCTAVO_EMULATED_ARCHITECTURE;
  attributes->binaryVersion = OCTAVO_EMULATED_ARCHITECTURE;
  attributes->maxThreadsPerBlock = 1024;
  return cudaSuccess;
}

}
