// Codes of 8 bits to pairs of 16-bit floats, exact: four at a time, in the registers that products take them from.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/ptx/numbers.cuh"

namespace octavo::cuda {

/** e4m3 in the lower half of a word to fp16; NaN stays NaN. */
__device__ __forceinline__ uint32_t e4m3Pair(uint32_t codes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  return ptx::e4m3Pair(codes);
#else
  // fp16 has three bits of fraction and an exponent that is 8 higher; what is all ones is no number.
  const uint32_t placed = __byte_perm(codes, 0, 0x1404), magnitude = placed & 0x7f007f00u;
  const uint32_t pair = ptx::fusedPair<DType::kF16>((placed & 0x80008000u) | magnitude >> 1, 0x5c005c00u, 0x80008000u);
  const uint32_t areNumbers = ((magnitude ^ 0x7f007f00u) + 0x7fff7fffu) & 0x80008000u;
  return pair | (areNumbers >> 15 ^ 0x00010001u) * 0xffffu;
#endif
}

/** fp16 to bf16, both halves; exact where eight bits are enough. */
__device__ __forceinline__ uint32_t narrowPair(uint32_t pair) {
  const float2 both = __half22float2(reinterpret_cast<const __half2&>(pair));
  return __byte_perm(__float_as_uint(both.x), __float_as_uint(both.y), 0x7632);
}

/** Codes 0 and 1 of a word in `low`, 2 and 3 in `high`. */
template <DType kType>
__device__ __forceinline__ void widenE4m3(uint32_t codes, uint32_t& low, uint32_t& high) {
  low = e4m3Pair(codes);
  high = e4m3Pair(codes >> 16);
  if constexpr (kType == DType::kBF16) {
    low = narrowPair(low);
    high = narrowPair(high);
  }
}

/** Codes at `selector` (of __byte_perm, bytes of 4 on are those of a word of 0x64 or 0) of int8. */
template <DType kType>
__device__ __forceinline__ uint32_t int8Pair(uint32_t codes, uint32_t selector) {
  if constexpr (kType == DType::kF16) {
    // 1024 + code + 128, less 1152; `codes` are biased already.
    return ptx::fusedPair<DType::kF16>(__byte_perm(codes, 0x64646464u, selector), 0x3c003c00u, 0xe480e480u);
  } else {
    // The fraction has seven bits: 128 + the lower ones, less 128 or, of a negative code, 256.
    const uint32_t placed = __byte_perm(codes, 0, selector);
    return ptx::fusedPair<DType::kBF16>(ptx::andOr(placed, 0x007f007fu, 0x43004300u), 0x3f803f80u,
                                   ptx::andOr(placed, 0x00800080u, 0xc300c300u));
  }
}

/** The same of int8. */
template <DType kType>
__device__ __forceinline__ void widenInt8(uint32_t codes, uint32_t& low, uint32_t& high) {
  if constexpr (kType == DType::kF16) codes ^= 0x80808080u;
  low = int8Pair<kType>(codes, 0x4140);
  high = int8Pair<kType>(codes, 0x4342);
}

/** The same with codes 0 and 2 in `low`, 1 and 3 in `high`. */
template <DType kType>
__device__ __forceinline__ void widenInt8Crosswise(uint32_t codes, uint32_t& low, uint32_t& high) {
  if constexpr (kType == DType::kF16) codes ^= 0x80808080u;
  low = int8Pair<kType>(codes, 0x4240);
  high = int8Pair<kType>(codes, 0x4341);
}

template <DType kCode, DType kType>
__device__ __forceinline__ void widenCodes(uint32_t codes, uint32_t& low, uint32_t& high) {
  if constexpr (kCode == DType::kE4M3) widenE4m3<kType>(codes, low, high);
  else widenInt8<kType>(codes, low, high);
}

template <DType kCode, DType kType>
__device__ __forceinline__ void widenCrosswise(uint32_t codes, uint32_t& low, uint32_t& high) {
  if constexpr (kCode == DType::kE4M3) widenE4m3<kType>(__byte_perm(codes, 0, 0x3120), low, high);
  else widenInt8Crosswise<kType>(codes, low, high);
}

}  // namespace octavo::cuda
