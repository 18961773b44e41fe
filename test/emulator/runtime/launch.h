// A launch on its way to the machine.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace octavo::emulator {

struct LaunchSettings {
  const char* name;
  dim3 grid, block, cluster;
  size_t dynamicBytes;
  cudaStream_t stream;
};

/** What a cudaLaunchConfig_t and its attributes say. */
LaunchSettings settingsOf(const char* name, const cudaLaunchConfig_t& config);

/** Runs `thread` once a thread, now, or records it where the stream is being captured. A failure is said on stderr. */
cudaError_t launchKernel(const void* kernel, const LaunchSettings& settings, std::function<void()> thread);

}  // namespace octavo::emulator
