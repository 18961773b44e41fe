// cuda/ptx/cluster_halves.cuh, emulated.
#pragma once

#include "cuda/ptx/mbarrier.cuh"

namespace octavo::cuda::ptx {

__device__ __forceinline__ void arriveCluster() { emulator::clusterArrive(); }
__device__ __forceinline__ void awaitCluster() { emulator::clusterWait(); }

}  // namespace octavo::cuda::ptx
