// cuda/ptx/numbers.cuh, emulated.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "base/dtype.h"
#include "tensor/numbers.h"

namespace octavo::cuda::ptx {

__device__ __forceinline__ float exp2Approximate(float x) {
  const float y = std::exp2(x);
  return y < 1.17549435e-38f ? 0.0f : y;  // .ftz
}

__device__ __forceinline__ float log2Approximate(float x) { return x < 1.17549435e-38f ? -INFINITY : std::log2(x); }

__device__ __forceinline__ uint32_t e4m3Pair(uint32_t codes) {
  float both[2];
  emulator::toFloats(emulator::Format::kE4M3, &codes, both, 2, 1);
  const __half2_raw pair = __floats2half2_rn(both[0], both[1]);
  return pair.x | static_cast<uint32_t>(pair.y) << 16;
}

__device__ __forceinline__ uint32_t andOr(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }
__device__ __forceinline__ uint32_t andXor(uint32_t a, uint32_t b, uint32_t c) { return (a & b) ^ c; }

template <DType kType>
__device__ __forceinline__ uint32_t fusedPair(uint32_t a, uint32_t b, uint32_t c) {
  const auto fuse = kType == DType::kBF16 ? emulator::fuseBF16 : emulator::fuseF16;
  const auto low = [](uint32_t pair) { return static_cast<uint16_t>(pair); };
  const auto high = [](uint32_t pair) { return static_cast<uint16_t>(pair >> 16); };
  return fuse(low(a), low(b), low(c)) | static_cast<uint32_t>(fuse(high(a), high(b), high(c))) << 16;
}

__device__ __forceinline__ void keep(uint32_t&) {}

}  // namespace octavo::cuda::ptx
