// Queries of bf16 that meet codes, which are fp16 in shared memory: so they must be. A row is brought into the range of
// fp16 by a power of 2, by which its products are multiplied afterwards. What is then rounded is below 2^-17 of the
// row's largest element, and by 2^-25 of it at most.
#pragma once

#include "cuda/attention/prefill_softmax.cuh"
#include "cuda/attention/wide_prefill_place.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::wide {

/** Four pairs of bf16, as they lie in shared memory. */
struct EightNumbers {
  uint32_t words[4];

  __device__ __forceinline__ void load(uint32_t from) {
    ptx::loadFourWords(words[0], words[1], words[2], words[3], from);
  }
  /** The bits, as float, of the largest magnitude. */
  __device__ __forceinline__ uint32_t most() const {
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) most = max(most, max(words[i] << 16 & 0x7fff0000u, words[i] & 0x7fff0000u));
    return most;
  }
  __device__ __forceinline__ void storeTimes(float factor, uint32_t to) const {
    uint32_t halves[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      halves[i] = packF16(__uint_as_float(words[i] << 16) * factor, __uint_as_float(words[i] & 0xffff0000u) * factor);
    }
    ptx::storeFourWords(to, halves[0], halves[1], halves[2], halves[3]);
  }
};

/**
 * Makes fp16 of a warp's 16 rows of a warpgroup's queries, in place; returns what the products of the lane's two rows
 * are then multiplied by. Four lanes have a row. Rows do not depend on each other.
 */
template <typename S>
__device__ __forceinline__ RowScales castQueries(uint32_t queries, float scaleLog2) {
  constexpr int kLeast = 64, kMost = 250;  // exponents for which the power, and what undoes it, are plain numbers
  const int lane = static_cast<int>(threadIdx.x % 32);
  RowScales scales;
#pragma unroll 1
  for (int r = 0; r < 2; ++r) {
    const uint32_t row = queries + (threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * r) * kRowBytes + lane % 4 * 32;
    EightNumbers eights[2 * S::kSlabs];
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < 2 * S::kSlabs; ++i) {
      eights[i].load(row + i / 2 * S::kQuerySlab + i % 2 * 16);
      most = max(most, eights[i].most());
    }
    most = max(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = max(most, __shfl_xor_sync(0xffffffffu, most, 2));
    const int exponent = min(max(static_cast<int>(most >> 23), kLeast), kMost);
    const float factor = __int_as_float((254 - exponent) << 23);
#pragma unroll
    for (int i = 0; i < 2 * S::kSlabs; ++i) eights[i].storeTimes(factor, row + i / 2 * S::kQuerySlab + i % 2 * 16);
    const float scale = scaleLog2 * __int_as_float(exponent << 23);
    if (r == 0) scales.of[0] = scale;
    else scales.of[1] = scale;
  }
  ptx::fenceForCopies();
  return scales;
}

}  // namespace octavo::cuda::wide
