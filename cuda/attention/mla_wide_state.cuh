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

  /** Zeros, that products may be added and that nothing of before keeps its registers. */
  __device__ __forceinline__ void clear() {
    scales = Scales();
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

  /** Becomes the fold of what lies at `at`, of earlier keys, and of this. */
  __device__ __forceinline__ void foldOnto(const float4* at) {
    Scales before(at);
    float left[2], right[2];
    before.fold(scales, left, right);
    scales = before;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const float4 v = foldValues(__ldcg(at + (i + 1) * 32), vector(i), left, right);
      out[i * 4] = v.x;
      out[i * 4 + 1] = v.y;
      out[i * 4 + 2] = v.z;
      out[i * 4 + 3] = v.w;
    }
  }
  __device__ __forceinline__ void store(float4* at) const {
    at[0] = scales.head();
#pragma unroll
    for (int i = 0; i < 32; ++i) at[(i + 1) * 32] = vector(i);
  }
};

}  // namespace octavo::cuda::mla::wide
