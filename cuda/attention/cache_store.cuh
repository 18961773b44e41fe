// A token's key or value of one head on its way into the cache, in the registers of a warp: the same bits as
// cpp/ops/cpu/cache_rows.cc makes.
#pragma once

#include "cuda/attention/cache_layout.cuh"
#include "cuda/device/floats.cuh"

namespace octavo::cuda {

constexpr int kMostHeadDim = 256;  // of a cache

/** Nearest, ties to even; what passes ±448 becomes ±448, NaN stays NaN. */
__device__ __forceinline__ uint8_t e4m3Of(float value) {
  const uint32_t bits = __float_as_uint(value), sign = bits >> 24 & 0x80u;
  const float magnitude = fabsf(value);
  if (magnitude != magnitude) return static_cast<uint8_t>(sign | 0x7fu);
  if (magnitude >= 448.0f) return static_cast<uint8_t>(sign | 0x7eu);
  // 2¹⁴ has a step of 2⁻⁹ in fp32: adding it rounds to a subnormal, or to the smallest normal number.
  if (magnitude < 0x1p-6f) return static_cast<uint8_t>(sign | (__float_as_uint(__fadd_rn(magnitude, 0x1p14f)) & 0xfu));
  const uint32_t rounded = (bits & 0x7fffffffu) + 0x7ffffu + (bits >> 20 & 1u);
  return static_cast<uint8_t>(sign | (rounded - ((127u - 7u) << 23)) >> 20);
}

/** Nearest, ties to even; 0 where the scale is 0 or NaN has no number. */
__device__ __forceinline__ uint8_t int8Of(float value, float scale) {
  const float code = __fdiv_rn(value, scale);
  const bool isNumber = scale > 0 && code == code;
  return static_cast<uint8_t>(isNumber ? __float2int_rn(fminf(fmaxf(code, -127.0f), 127.0f)) : 0);
}

/** max |x| / 127 over a warp's elements; NaN where one is. */
template <int kCount>
__device__ __forceinline__ float int8Scale(const float (&values)[kCount]) {
  float largest = 0;
  bool isNumber = true;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    isNumber = isNumber && values[i] == values[i];
    largest = fmaxf(largest, fabsf(values[i]));
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  }
  return __all_sync(0xffffffffu, isNumber) ? __fdiv_rn(largest, 127.0f) : __uint_as_float(0x7fc00000u);
}

/** Where a token is written. */
struct CacheSlot {
  int64_t block;
  int offset;  // in the block
  __device__ __forceinline__ CacheSlot(const CacheLayout& cache, int64_t slot)
      : block(slot / cache.blockSize), offset(static_cast<int>(slot % cache.blockSize)) {}
};

/** With what e4m3 of this head is written. */
__device__ __forceinline__ float e4m3Scale(const CacheLayout& cache, const KvScales& scales, int side, int head) {
  if (cache.scaling == KvScaling::kTensor) return side == 0 ? scales.key : scales.value;
  const float* const heads = side == 0 ? scales.keyHeads : scales.valueHeads;
  return heads != nullptr ? heads[head] : 1.0f;
}

/**
 * Stores a row by a whole warp. `indexOf(i)`: of the element that values[i] of this lane is, past the row where it is
 * none; then the value is 0.
 */
template <int kCount, typename IndexOf>
__device__ __forceinline__ void storeCached(const CacheLayout& cache, const CacheSlot& to, int side, int head,
                                            const float (&values)[kCount], const KvScales& scales, IndexOf indexOf) {
  const int64_t start = to.block * cache.blockStride + (side == 0 ? cache.keyStart : cache.valueStart) +
                        head * cache.headStride + static_cast<int64_t>(to.offset) * cache.headDim;
  const bool isInt8 = cache.dtype == DType::kI8, isCode = isInt8 || cache.dtype == DType::kE4M3;
  float scale = 1;
  if (isCode) {
    scale = isInt8 ? int8Scale(values) : e4m3Scale(cache, scales, side, head);
    if (cache.hasScales() && threadIdx.x % 32 == 0) *cache.scale(to.block, side, head, to.offset) = scale;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int index = indexOf(i);
    if (index >= cache.headDim) continue;
    if (!isCode) storeFloat(cache.data, cache.dtype, start + index, values[i]);
    else static_cast<uint8_t*>(cache.data)[start + index] =
        isInt8 ? int8Of(values[i], scale) : e4m3Of(__fdiv_rn(values[i], scale));
  }
}

}  // namespace octavo::cuda
