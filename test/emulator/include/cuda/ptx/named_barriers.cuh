// cuda/ptx/named_barriers.cuh, emulated.
#pragma once

#include <cuda_runtime.h>

#include "machine/thread.h"

namespace octavo::cuda::ptx {

__device__ __forceinline__ void meet(int barrier, int threads) { emulator::namedBarrier(barrier, threads, true); }
__device__ __forceinline__ void announce(int barrier, int threads) { emulator::namedBarrier(barrier, threads, false); }

}  // namespace octavo::cuda::ptx
