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
 * The kernel may begin when all blocks of the one ahead have let it (ptx::letSuccessorsBegin) or have ended, and there
 * is room. Every one of its blocks must itself wait for the end of what is ahead in the stream
 * (ptx::waitForPredecessors) before it writes global memory or reads what others write. Before that it may read what
 * was complete when the last kernel began that was launched otherwise. Throws an Error that names `kernelName`.
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
