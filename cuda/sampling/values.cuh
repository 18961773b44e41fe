// A row's values as the sampler sees them, and their order as integers.
#pragma once

#include <cstdint>

#include "cuda/sampling/block_sum.cuh"

namespace octavo::cuda::sampling {

constexpr float kLargest = 3.402823466e+38f;

/** NaN counts as −inf, +inf as the largest finite float. */
__device__ __forceinline__ float cleaned(float z) { return z != z ? -INFINITY : fminf(z, kLargest); }

/** Unsigned integers in the order of the floats, −0 equal to +0. No NaN. */
__device__ __forceinline__ uint32_t orderedBits(float value) {
  uint32_t bits = __float_as_uint(value + 0.0f);
  return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

/** The inverse. */
__device__ __forceinline__ float valueOf(uint32_t bits) {
  return __uint_as_float(bits >> 31 ? bits ^ 0x80000000u : ~bits);
}

/** (logit − shift) / temperature of the cleaned logits; a shift that is their maximum keeps it finite. */
struct Values {
  const float* logits;
  float shift = 0, temperature = 1;
  __device__ __forceinline__ float of(float logit) const { return (cleaned(logit) - shift) / temperature; }
  __device__ __forceinline__ float operator()(int id) const { return of(logits[id]); }
};

/** Calls body(id, z) for every id below `count`; several loads of a thread are in flight together. */
template <typename Body>
__device__ __forceinline__ void forEach(const Values& values, int count, Body body) {
  constexpr int kUnroll = 8;
  int id = threadIdx.x;
  for (; id + (kUnroll - 1) * kThreads < count; id += kUnroll * kThreads) {
    float logits[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) logits[j] = values.logits[id + j * kThreads];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) body(id + j * kThreads, values.of(logits[j]));
  }
  for (; id < count; id += kThreads) body(id, values(id));
}

}  // namespace octavo::cuda::sampling
