// cuda/ptx/wgmma_codes.cuh, emulated. Sums of e4m3 are in fp32, where the card keeps some 14 bits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "asynchronous/products.h"

namespace octavo::cuda::ptx {

struct E4m3Codes {
  using Sum = float;
};
struct Int8Codes {
  using Sum = int32_t;
};

template <int kCount>
__device__ __forceinline__ void multiplyCodes(E4m3Codes, float (&d)[kCount], uint64_t a, uint64_t b, int accumulates) {
  emulator::issueProduct({emulator::Format::kE4M3, 2 * kCount, false, false, accumulates != 0, a, b}, d, nullptr);
}
template <int kCount>
__device__ __forceinline__ void multiplyCodes(Int8Codes, int32_t (&d)[kCount], uint64_t a, uint64_t b,
                                              int accumulates) {
  emulator::issueProduct({emulator::Format::kInt8, 2 * kCount, false, false, accumulates != 0, a, b}, d, nullptr);
}

template <int kCount>
__device__ __forceinline__ void pinSums(float (&)[kCount]) {}
template <int kCount>
__device__ __forceinline__ void pinSums(int32_t (&)[kCount]) {}

}  // namespace octavo::cuda::ptx
