// cuda/ptx/atomics.cuh, emulated: one thread runs at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

__device__ __forceinline__ int32_t countOrdered(int32_t* counter) { return (*counter)++; }

}  // namespace octavo::cuda::ptx
