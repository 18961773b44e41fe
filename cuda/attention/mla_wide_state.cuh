// What a warpgroup has of the rows of an item: 256 of their columns, and the running softmax.
#pragma once

#include "cuda/attention/mla_combine.cuh"
#include "cuda/attention/mla_wide_place.cuh"
#include "cuda/ptx/numbers.cuh"

namespace octavo::cuda::mla::wide {

/** A lane's two rows, 8 apart; their sums are of the keys that this lane, then this warpgroup, has weighed. */
struct State {
  Scales scales;
  float out[128];

  __device__ __forceinline__ void clear() {
    scales = Scales();
    clearValues();
  }
  /** Zeros, that products may be added and that nothing of before keeps its registers. */
  __device__ __forceinline__ void clearValues() {
#pragma unroll
    for (int i = 0; i < 128; ++i) out[i] = 0;
  }
  __device__ __forceinline__ void scale(const float (&factors)[2]) {
    if (!__any_sync(0xffffffffu, factors[0] != 1.0f || factors[1] != 1.0f)) return;
#pragma unroll
    for (int i = 0; i < 128; ++i) out[i] *= factors[i >> 1 & 1];
  }
  __device__ __forceinline__ float4 vector(int i) const {
    return make_float4(out[i * 4], out[i * 4 + 1], out[i * 4 + 2], out[i * 4 + 3]);
  }

  /**
   * The values, and `own`, their maxima and sums, become the fold with what lies at `at`, of earlier keys; or null.
   * `kWindow` vectors are on their way at once: each visit of the L2 is waited for.
   */
  template <int kWindow>
  __device__ __forceinline__ void fold(Scales& own, const float4* at) {
    if (at == nullptr) return;
    float4 ahead[kWindow];
    Scales before(at);
#pragma unroll
    for (int i = 0; i < kWindow; ++i) ahead[i] = __ldcg(at + (i + 1) * 32);
    float left[2], right[2];
    before.fold(own, left, right);
    own = before;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const float4 v = foldValues(ahead[i % kWindow], vector(i), left, right);
      if (i + kWindow < 32) ahead[i % kWindow] = __ldcg(at + (i + kWindow + 1) * 32);
      float* const to = out + 4 * i;
      to[0] = v.x;
      to[1] = v.y;
      to[2] = v.z;
      to[3] = v.w;
    }
  }
  __device__ __forceinline__ void store(const Scales& own, float4* at) const {
    at[0] = own.head();
#pragma unroll
    for (int i = 0; i < 32; ++i) at[(i + 1) * 32] = vector(i);
  }
};

}  // namespace octavo::cuda::mla::wide
