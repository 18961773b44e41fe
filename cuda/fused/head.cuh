// A head of a token in a warp's registers: normed, turned and stored, with the roundings of the kernels that do one of these.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/device/reduce.cuh"
#include "cuda/elementwise/rotation.cuh"
#include "ops/tensor.h"

namespace octavo::cuda {

constexpr int kMostDim = 256, kPairs = kMostDim / 2 / 32;  // of a lane

/** A head in registers: pairs lane + 32 · i. */
struct Head {
  float first[kPairs], second[kPairs];
};

__device__ __forceinline__ void loadHead(Head& head, const Heads& from, int64_t start) {
  const int half = from.dim / 2;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int pair = static_cast<int>(threadIdx.x % 32) + 32 * i;
    if (pair >= half) continue;
    head.first[i] = loadFloat(from.data, from.dtype, start + pair);
    head.second[i] = loadFloat(from.data, from.dtype, start + half + pair);
  }
}

__device__ __forceinline__ void storeHead(void* data, DType dtype, int64_t start, int half, const Head& head) {
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int pair = static_cast<int>(threadIdx.x % 32) + 32 * i;
    if (pair >= half) continue;
    storeFloat(data, dtype, start + pair, head.first[i]);
    storeFloat(data, dtype, start + half + pair, head.second[i]);
  }
}

/** As launchHeadNorm sums and rounds. */
__device__ __forceinline__ void normHead(Head& head, const Heads& from, int64_t start, const Vector& weight,
                                         float epsilon) {
  float squares = 0;
  for (int i = static_cast<int>(threadIdx.x % 32); i < from.dim; i += 32) {
    const float value = loadFloat(from.data, from.dtype, start + i);
    squares = __fmaf_rn(value, value, squares);
  }
  const float factor = 1.0f / sqrtf(warpSum(squares) / static_cast<float>(from.dim) + epsilon);
  const int half = from.dim / 2;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int pair = static_cast<int>(threadIdx.x % 32) + 32 * i;
    if (pair >= half) continue;
    head.first[i] = roundTo(from.dtype, head.first[i] * factor * loadFloat(weight.data, weight.dtype, pair));
    head.second[i] = roundTo(from.dtype, head.second[i] * factor * loadFloat(weight.data, weight.dtype, half + pair));
  }
}

__device__ __forceinline__ void turnHead(Head& head, int half, DType dtype, const float2* angles) {
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int pair = static_cast<int>(threadIdx.x % 32) + 32 * i;
    if (pair >= half) continue;
    const float2 turned = rotated(head.first[i], head.second[i], angles[pair]);
    head.first[i] = roundTo(dtype, turned.x);
    head.second[i] = roundTo(dtype, turned.y);
  }
}

}  // namespace octavo::cuda
