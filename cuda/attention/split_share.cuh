// Folded states: of the warps of a block, of chunks, of quads. A finisher has a share of the dims of each.
#pragma once

#include "cuda/attention/split_query.cuh"

namespace octavo::cuda::split {

/**
 * Writes dims of query rows `row` and row + 1: where the two halves of a sixteen lie is the source's matter. Zeros are
 * written as +0, for those of pieces have no sign of their own (split_pieces.cuh).
 */
template <DType kType, bool kFew>
__device__ __forceinline__ void storeRows(const Arguments& a, const Unit& unit, int row, int dim, float4 values,
                                          float scale0, float scale1) {
  uint16_t* to = static_cast<uint16_t*>(a.out.data) + dim;
  const int count = unit.share * unit.tokens;
  uint32_t first = packPair<kType>(fmaf(values.x, scale0, 0.0f), fmaf(values.y, scale1, 0.0f));
  uint32_t second = packPair<kType>(fmaf(values.z, scale0, 0.0f), fmaf(values.w, scale1, 0.0f));
  if (row < count) {
    uint16_t* at = to + rowStart<kFew>(a.out, unit, row);
    at[0] = static_cast<uint16_t>(first);
    at[8] = static_cast<uint16_t>(second);
  }
  if (row + 1 < count) {
    uint16_t* at = to + rowStart<kFew>(a.out, unit, row + 1);
    at[0] = static_cast<uint16_t>(first >> 16);
    at[8] = static_cast<uint16_t>(second >> 16);
  }
}

/** The same of codes, whose values have dims 2 i and 2 i + 1 at `dim` where floats have i and i + 8. */
template <bool kFew>
__device__ __forceinline__ void storeNeighbours(const Arguments& a, const Unit& unit, int row, int dim, float4 values,
                                                float scale0, float scale1) {
  uint16_t* to = static_cast<uint16_t*>(a.out.data) + dim;
  const int count = unit.share * unit.tokens;
  const bool isBf16 = a.out.dtype == DType::kBF16;
  const auto store = [&](int at, float low, float high) {
    if (at >= count) return;
    const uint32_t pair = isBf16 ? packBf16(low, high) : packF16(low, high);
    *reinterpret_cast<uint32_t*>(to + rowStart<kFew>(a.out, unit, at)) = pair;
  };
  store(row, fmaf(values.x, scale0, 0.0f), fmaf(values.z, scale0, 0.0f));
  store(row + 1, fmaf(values.y, scale1, 0.0f), fmaf(values.w, scale1, 0.0f));
}

/** How a row of an item ends. */
template <bool kFew>
__device__ __forceinline__ float endRow(const Arguments& a, const Unit& unit, int row, float maximum, float sum,
                                        bool tells) {
  const int count = unit.share * unit.tokens, safe = min(row, count - 1), later = kFew ? safe / unit.share : 0;
  const int head = unit.firstHead + safe - later * unit.share;
  const SoftmaxEnd end(a.variant, head, maximum, sum);
  if (tells && row < count) end.store(a.variant, unit.token + later, head);
  return end.factor;
}

/** Every kFinishers-th sixteen dims of a tile of a state, from this finisher's on, in the lanes of State. */
template <typename Shape, int kDim>
struct Share {
  static constexpr int kWarps = Shape::kWarps, kFinishers = Shape::kFinishers;
  static constexpr int kSixteens = kDim / 16, kMine = (kSixteens + kFinishers - 1) / kFinishers;
  static constexpr int kVectors = 1 + kMine;  // float4 a lane
  float maximum[2], sum[2];
  float4 values[kMine];

  static __device__ __forceinline__ int finisher() { return static_cast<int>(threadIdx.x / 32) - Shape::kAdders; }
  static __device__ __forceinline__ int sixteen(int i) { return finisher() + i * kFinishers; }
  static __device__ __forceinline__ bool has(int i) { return kSixteens % kFinishers == 0 || sixteen(i) < kSixteens; }

  /** Folds a tile of the states of all warps, in their order. `states`: of warp 0, at this lane. */
  template <int kTiles>
  __device__ __forceinline__ void collect(const float4* states, int tile) {
    constexpr int kState = (kSixteens + 1) * kTiles * 32, kTogether = Shape::kWarpTiles;
    states += tile / kTogether * (kSixteens + 1) * kTogether * 32;
    tile %= kTogether;
    float4 heads[kWarps];
    float weight[kWarps][2], most[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      heads[w] = states[w * kState + tile * 32];
      most[0] = fmaxf(most[0], heads[w].x);
      most[1] = fmaxf(most[1], heads[w].y);
    }
    const float base[2] = {baseOf(most[0]), baseOf(most[1])};
    sum[0] = sum[1] = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      weight[w][0] = exp2f(heads[w].x - base[0]);
      weight[w][1] = exp2f(heads[w].y - base[1]);
      sum[0] = fmaf(heads[w].z, weight[w][0], sum[0]);
      sum[1] = fmaf(heads[w].w, weight[w][1], sum[1]);
    }
    maximum[0] = most[0];
    maximum[1] = most[1];
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      values[i] = make_float4(0, 0, 0, 0);
      if (!has(i)) continue;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        addScaled(values[i], states[w * kState + (kTogether + sixteen(i) * kTogether + tile) * 32], weight[w]);
      }
    }
  }

  /** Folds the state of the keys that follow these into this one. */
  __device__ __forceinline__ void fold(const Share& next) {
    float left[2], right[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float most = fmaxf(maximum[r], next.maximum[r]), base = baseOf(most);
      left[r] = exp2f(maximum[r] - base);
      right[r] = exp2f(next.maximum[r] - base);
      maximum[r] = most;
      sum[r] = fmaf(next.sum[r], right[r], sum[r] * left[r]);
    }
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      float4& v = values[i];
      v = make_float4(v.x * left[0], v.y * left[1], v.z * left[0], v.w * left[1]);
      addScaled(v, next.values[i], right);
    }
  }

  template <DType kType, bool kFew>
  __device__ __forceinline__ void write(const Arguments& a, const Unit& unit, int tile) const {
    const int lane = static_cast<int>(threadIdx.x % 32), row = tile * 8 + lane % 4 * 2;
    const bool tells = lane < 4 && finisher() == 0;
    const float scale0 = endRow<kFew>(a, unit, row, maximum[0] - Shape::kWeightShift, sum[0], tells);
    const float scale1 = endRow<kFew>(a, unit, row + 1, maximum[1] - Shape::kWeightShift, sum[1], tells);
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      if (!has(i)) continue;
      if constexpr (Shape::kCoded) {
        storeNeighbours<kFew>(a, unit, row, sixteen(i) * 16 + lane / 4 * 2, values[i], scale0, scale1);
      } else {
        storeRows<kType, kFew>(a, unit, row, sixteen(i) * 16 + lane / 4, values[i], scale0, scale1);
      }
    }
  }

 private:
  /** Nothing seen yet: every weight is 0. */
  static __device__ __forceinline__ float baseOf(float most) { return most == -INFINITY ? 0.0f : most; }
  static __device__ __forceinline__ void addScaled(float4& sum, const float4& v, const float (&scale)[2]) {
    sum.x = fmaf(v.x, scale[0], sum.x);
    sum.y = fmaf(v.y, scale[1], sum.y);
    sum.z = fmaf(v.z, scale[0], sum.z);
    sum.w = fmaf(v.w, scale[1], sum.w);
  }
};

}  // namespace octavo::cuda::split
