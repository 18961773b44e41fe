// What a warpgroup has of the rows of an item: 256 of their columns, and the running softmax.
#pragma once

#include "cuda/attention/mla_wide_place.cuh"

namespace octavo::cuda::mla::wide {

__device__ __forceinline__ float exp2Approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/** A lane's two rows, 8 apart; their sums are of the keys that this lane, then this warpgroup, has weighed. */
struct State {
  float maximum[2], sum[2];
  float out[128];

  static constexpr int kVectors = 33;  // float4 a thread in a slot

  /** The first vector of a slot: maxima in log2, and sums. */
  struct Scales {
    float maximum[2], sum[2];

    __device__ __forceinline__ explicit Scales(const float4* at) {
      const float4 head = __ldcg(at);
      maximum[0] = head.x;
      maximum[1] = head.y;
      sum[0] = head.z;
      sum[1] = head.w;
    }
    __device__ __forceinline__ float4 head() const {
      return make_float4(maximum[0], maximum[1], sum[0], sum[1]);
    }
    /** Becomes the fold of this and of later keys; by what the values of both are scaled. */
    __device__ __forceinline__ void fold(const Scales& next, float (&left)[2], float (&right)[2]) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float most = fmaxf(maximum[r], next.maximum[r]), base = most == -INFINITY ? 0.0f : most;
        left[r] = exp2Approximate(maximum[r] - base);
        right[r] = exp2Approximate(next.maximum[r] - base);
        maximum[r] = most;
        sum[r] = fmaf(next.sum[r], right[r], sum[r] * left[r]);
      }
    }
  };

  /** Zeros, that products may be added and that nothing of before keeps its registers. */
  __device__ __forceinline__ void clear() {
    maximum[0] = maximum[1] = -INFINITY;
    sum[0] = sum[1] = 0;
#pragma unroll
    for (int i = 0; i < 128; ++i) out[i] = 0;
  }

  __device__ __forceinline__ void scale(const float (&factors)[2]) {
    if (!__any_sync(0xffffffffu, factors[0] != 1.0f || factors[1] != 1.0f)) return;
#pragma unroll
    for (int i = 0; i < 128; ++i) out[i] *= factors[i >> 1 & 1];
  }

  /** Becomes the fold of what lies at `at`, of earlier keys, and of this. */
  __device__ __forceinline__ void foldOnto(const float4* at) {
    Scales before(at);
    float left[2], right[2];
    Scales own = before;
    own.maximum[0] = maximum[0];
    own.maximum[1] = maximum[1];
    own.sum[0] = sum[0];
    own.sum[1] = sum[1];
    before.fold(own, left, right);
    maximum[0] = before.maximum[0];
    maximum[1] = before.maximum[1];
    sum[0] = before.sum[0];
    sum[1] = before.sum[1];
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const float4 v = __ldcg(at + (i + 1) * 128);
      out[i * 4] = fmaf(out[i * 4], right[0], v.x * left[0]);
      out[i * 4 + 1] = fmaf(out[i * 4 + 1], right[0], v.y * left[0]);
      out[i * 4 + 2] = fmaf(out[i * 4 + 2], right[1], v.z * left[1]);
      out[i * 4 + 3] = fmaf(out[i * 4 + 3], right[1], v.w * left[1]);
    }
  }
  __device__ __forceinline__ void store(float4* at) const {
    at[0] = make_float4(maximum[0], maximum[1], sum[0], sum[1]);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      at[(i + 1) * 128] = make_float4(out[i * 4], out[i * 4 + 1], out[i * 4 + 2], out[i * 4 + 3]);
    }
  }
};

}  // namespace octavo::cuda::mla::wide
