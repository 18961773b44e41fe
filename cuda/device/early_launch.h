// Launches of kernels that may begin while the kernel before them still runs (sm_90).
#pragma once

#include <cuda_runtime.h>

#include "cuda/device/cuda_check.h"

namespace octavo::cuda {

/** Blocks of a launch, `cluster` of them side by side. */
struct EarlyLaunch {
  dim3 grid, block;
  int sharedBytes = 0;
  cudaStream_t stream = nullptr;
  unsigned cluster = 1;
};

/**
 * The kernel must wait for what is before it in the stream (ptx::waitForPredecessors) before it reads or writes global
 * memory. Its blocks are there by then where those of the kernel before have left room or have let it begin
 * (ptx::letSuccessorsBegin). Throws an Error that names `kernelName`.
 */
template <typename... Parameters, typename... Given>
void launchEarly(void (*kernel)(Parameters...), const EarlyLaunch& to, const char* kernelName, const Given&... given) {
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = to.cluster;
  attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = to.grid;
  config.blockDim = to.block;
  config.dynamicSmemBytes = static_cast<size_t>(to.sharedBytes);
  config.stream = to.stream;
  config.attrs = attributes;
  config.numAttrs = to.cluster > 1 ? 2 : 1;
  check(cudaLaunchKernelEx(&config, kernel, given...), kernelName);
}

}  // namespace octavo::cuda
