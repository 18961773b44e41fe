// Loads and stores of any float dtype as fp32. The dtype is a run-time value that is the same for a whole
// launch: the branch costs nothing beside the memory access, and one kernel serves every mix of dtypes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "base/dtype.h"

namespace octavo::cuda {

constexpr int kChunk = 8;  // elements of a vectorised access: 16 bytes of a 16-bit type, 32 of fp32

__device__ __forceinline__ float loadFloat(const void* data, DType dtype, int64_t index) {
  if (dtype == DType::kF32) return static_cast<const float*>(data)[index];
  if (dtype == DType::kBF16) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
  return __half2float(static_cast<const __half*>(data)[index]);
}

__device__ __forceinline__ void storeFloat(void* data, DType dtype, int64_t index, float value) {
  if (dtype == DType::kF32) static_cast<float*>(data)[index] = value;
  else if (dtype == DType::kBF16) static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(value);
  else static_cast<__half*>(data)[index] = __float2half_rn(value);
}

/** `value` as it reads back after a store in `dtype`. */
__device__ __forceinline__ float roundTo(DType dtype, float value) {
  if (dtype == DType::kBF16) return __bfloat162float(__float2bfloat16_rn(value));
  if (dtype == DType::kF16) return __half2float(__float2half_rn(value));
  return value;
}

__device__ __forceinline__ void unpackBf16(uint32_t pair, float& low, float& high) {
  low = __uint_as_float(pair << 16);
  high = __uint_as_float(pair & 0xffff0000u);
}

__device__ __forceinline__ void unpackF16(uint32_t pair, float& low, float& high) {
  float2 both = __half22float2(reinterpret_cast<const __half2&>(pair));
  low = both.x;
  high = both.y;
}

__device__ __forceinline__ uint32_t packBf16(float low, float high) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

__device__ __forceinline__ uint32_t packF16(float low, float high) {
  __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

/** Eight 16-bit elements as they lie in memory, to fp32. */
__device__ __forceinline__ void unpackChunk(float (&values)[kChunk], const uint4& bits, bool isBf16) {
  const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (isBf16) unpackBf16(words[i], values[2 * i], values[2 * i + 1]);
    else unpackF16(words[i], values[2 * i], values[2 * i + 1]);
  }
}

/** Eight elements from `index`, whose address must be a multiple of 16 bytes. */
__device__ __forceinline__ void loadChunk(float (&values)[kChunk], const void* data, DType dtype, int64_t index) {
  if (dtype == DType::kF32) {
    const float4* from = reinterpret_cast<const float4*>(static_cast<const float*>(data) + index);
    float4 low = from[0], high = from[1];
    values[0] = low.x; values[1] = low.y; values[2] = low.z; values[3] = low.w;
    values[4] = high.x; values[5] = high.y; values[6] = high.z; values[7] = high.w;
    return;
  }
  uint4 bits = *reinterpret_cast<const uint4*>(static_cast<const uint16_t*>(data) + index);
  unpackChunk(values, bits, dtype == DType::kBF16);
}

__device__ __forceinline__ void storeChunk(void* data, DType dtype, int64_t index, const float (&values)[kChunk]) {
  if (dtype == DType::kF32) {
    float4* to = reinterpret_cast<float4*>(static_cast<float*>(data) + index);
    to[0] = make_float4(values[0], values[1], values[2], values[3]);
    to[1] = make_float4(values[4], values[5], values[6], values[7]);
    return;
  }
  uint4 bits;
  if (dtype == DType::kBF16) {
    bits = make_uint4(packBf16(values[0], values[1]), packBf16(values[2], values[3]),
                      packBf16(values[4], values[5]), packBf16(values[6], values[7]));
  } else {
    bits = make_uint4(packF16(values[0], values[1]), packF16(values[2], values[3]),
                      packF16(values[4], values[5]), packF16(values[6], values[7]));
  }
  *reinterpret_cast<uint4*>(static_cast<uint16_t*>(data) + index) = bits;
}

/** The same with kWidth elements: a chunk, or one element for data that is not aligned. */
template <int kWidth>
__device__ __forceinline__ void loadVector(float (&values)[kWidth], const void* data, DType dtype, int64_t index) {
  if constexpr (kWidth == kChunk) loadChunk(values, data, dtype, index);
  else values[0] = loadFloat(data, dtype, index);
}

template <int kWidth>
__device__ __forceinline__ void storeVector(void* data, DType dtype, int64_t index, const float (&values)[kWidth]) {
  if constexpr (kWidth == kChunk) storeChunk(data, dtype, index, values);
  else storeFloat(data, dtype, index, values[0]);
}

}  // namespace octavo::cuda
