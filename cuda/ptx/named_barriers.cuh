// Barriers of some of a block's threads (PTX ISA, "bar", sm_80): 1 … 15, for 0 is __syncthreads.
#pragma once

#include <cuda_runtime.h>

namespace octavo::cuda::ptx {

/** Waits until `threads`, a multiple of 32, have come, by this or by announce. */
__device__ __forceinline__ void meet(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/** Comes without waiting. */
__device__ __forceinline__ void announce(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace octavo::cuda::ptx
