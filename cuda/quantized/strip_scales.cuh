// What sums of a strip's products meet: the scales of its rows, and before them the zeros that its codes lose.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/quantized/tile_numbers.cuh"

namespace octavo::cuda {

/** Sums of a group meet the scales of rows g and g + 8. */
template <int kEights>
__device__ __forceinline__ void addScaled(float (&sums)[kEights][4], const float (&parts)[kEights][4], uint32_t pair,
                                          bool isBf16) {
  float low, high;
  if (isBf16) unpackBf16(pair, low, high);
  else unpackF16(pair, low, high);
#pragma unroll
  for (int i = 0; i < kEights; ++i) {
    sums[i][0] = fmaf(parts[i][0], low, sums[i][0]);
    sums[i][1] = fmaf(parts[i][1], low, sums[i][1]);
    sums[i][2] = fmaf(parts[i][2], high, sums[i][2]);
    sums[i][3] = fmaf(parts[i][3], high, sums[i][3]);
  }
}

/** The scales and offsets of a strip's group. */
template <int kBits, DType kType>
struct StripGroup {
  uint32_t scales, offsets[2];

  __device__ __forceinline__ void load(uint32_t scalesAt, uint32_t zerosAt, bool hasZeros) {
    scales = ptx::loadWord(scalesAt);
    uint32_t zeros = (1u << (kBits - 1)) * 0x101u;
    if (hasZeros) zeros = ptx::loadHalfWord(zerosAt);
    offsets[0] = offsetPair<kBits, kType>(zeros & 0xffu);
    offsets[1] = offsetPair<kBits, kType>(zeros >> 8);
  }
};

}  // namespace octavo::cuda
