// cuda/ptx/atomics.cuh, emulated: one thread runs at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

__device__ __forceinline__ int32_t countOrdered(int32_t* counter) { return (*counter)++; }
__device__ __forceinline__ int32_t countUnordered(int32_t* counter) { return (*counter)++; }

__device__ __forceinline__ void storeUnordered(float4* to, const float4& words) { *to = words; }
__device__ __forceinline__ float4 loadUnordered(const float4* from) { return *from; }

}  // namespace octavo::cuda::ptx
