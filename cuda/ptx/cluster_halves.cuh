// The barrier of a cluster in halves, for threads that have other work between them (PTX ISA, "barrier.cluster", sm_90).
#pragma once

#include <cuda_runtime.h>

namespace octavo::cuda::ptx {

/** What this thread wrote before is visible after the others' waits. Every thread, once before each awaitCluster. */
__device__ __forceinline__ void arriveCluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void awaitCluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

}  // namespace octavo::cuda::ptx
