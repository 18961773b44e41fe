// Codes of a strip to the left operand of a product of the tensor cores: code − zero, exact in 16 bits.
//
// A code is placed into the fraction of 128 (bf16) or 1024 (fp16), whose last place is worth 1, and that and the zero
// are taken away. The fraction of bf16 has seven bits: the upper bit of a code of eight chooses what is taken away.
#pragma once

#include "base/dtype.h"
#include "cuda/device/floats.cuh"
#include "cuda/ptx/numbers.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/quantized/tiles.cuh"

namespace octavo::cuda {

/** Where a lane's first word lies in a strip. */
template <int kBits>
__device__ __forceinline__ uint32_t laneOffset() {
  return tileWordOffset<kBits>(threadIdx.x % 32, 0);
}

/** A lane's words of a strip; `first`: the shared address of the first of them. */
template <int kBits>
__device__ __forceinline__ void loadWords(uint32_t (&words)[kBits], uint32_t first) {
  if constexpr (kBits == 2) {
    ptx::loadTwoWords(words[0], words[1], first);
  } else if constexpr (kBits == 3) {
#pragma unroll
    for (int i = 0; i < 3; ++i) words[i] = ptx::loadWord(first + i * 128);
  } else {
#pragma unroll
    for (int i = 0; i < kBits; i += 4) {
      ptx::loadFourWords(words[i], words[i + 1], words[i + 2], words[i + 3], first + i * 128);
    }
  }
}

template <DType kType>
constexpr uint32_t kOnes = kType == DType::kBF16 ? 0x3f803f80u : 0x3c003c00u;
template <DType kType>
constexpr uint32_t kBase = kType == DType::kBF16 ? 0x43004300u : 0x64006400u;

/** What is added to placed codes: −(base + zero), or 128 − zero for bf16's codes of 8 bits. */
template <int kBits, DType kType>
__device__ __forceinline__ uint32_t offsetPair(uint32_t zero) {
  if constexpr (kBits == 8 && kType == DType::kBF16) {
    float offset = 128.0f - static_cast<float>(zero);
    return packBf16(offset, offset);
  } else {
    return (kBase<kType> | 0x80008000u) + zero * 0x10001u;
  }
}

/** The registers of product `step`, known to the compiler once loops are unrolled; offsets: of rows g and g + 8. */
template <int kBits, DType kType>
__device__ __forceinline__ void toLeft(uint32_t (&left)[4], const uint32_t (&words)[kBits], int step,
                                       const uint32_t (&offsets)[2]) {
  constexpr uint32_t kMask = ((1u << kBits) - 1) * 0x10001u;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int pair = step * 4 + i;
    uint32_t word = words[pairWord<kBits>(pair)] >> pairBit<kBits>(pair);
    if constexpr (kBits == 8 && kType == DType::kBF16) {
      uint32_t centred = ptx::fusedPair<kType>(ptx::andOr(word, 0x007f007fu, kBase<kType>), kOnes<kType>,
                                               ptx::andXor(word, 0x00800080u, 0xc380c380u));
      left[i] = ptx::fusedPair<kType>(centred, kOnes<kType>, offsets[i % 2]);
    } else {
      uint32_t placed = ptx::andOr(word, kBits == 3 && pair == 15 ? 0x00010001u : kMask, kBase<kType>);
      if (kBits == 3 && pair == 15) {
        placed = ptx::andOr(words[2] >> 13, 0x00040004u, ptx::andOr(words[1] >> 14, 0x00020002u, placed));
      }
      left[i] = ptx::fusedPair<kType>(placed, kOnes<kType>, offsets[i % 2]);
    }
  }
}

}  // namespace octavo::cuda
