// Launches that need not wait for the end of the kernel ahead (CUDA, "programmatic dependent launch", sm_90).
#pragma once

#include <cuda_runtime.h>

#include "cuda/device/cuda_check.h"

namespace octavo::cuda {

struct LaunchShape {
  dim3 blocks, threads;
  size_t sharedBytes;
  cudaStream_t stream;
};

/**
 * The kernel may begin when all blocks of the one ahead have let it or have ended; it must itself wait for the end
 * (ptx::waitForPredecessors) before it touches what others write. Before that it may read what was complete when the
 * last kernel began that was launched otherwise.
 */
template <typename... Parameters, typename... Values>
void launchOverlapped(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, const Values&... values) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.dynamicSmemBytes = shape.sharedBytes;
  config.stream = shape.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, values...), name);
}

}  // namespace octavo::cuda
