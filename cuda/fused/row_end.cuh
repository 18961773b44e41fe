// What becomes of a tile's sums: those of all warps are met in a fixed order and stored, added or gated, by a warp that does
// nothing else. While it waits for its loads the others multiply the next tile: where they finished tiles themselves, a
// third of the time of a product of e4m3 was theirs who waited for them.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/fused/row_layout.cuh"
#include "cuda/fused/row_weights.cuh"

namespace octavo::cuda::rows {

/** Where a tile's sums lie. */
class Partials {
 public:
  __device__ __forceinline__ Partials(const Arguments& a, uint8_t* shared)
      : first_(reinterpret_cast<float4*>(shared + a.layout.partials)), sets_(a.layout.sets),
        pairs_(static_cast<int>(a.x.rows + 1) / 2) {}

  /** Columns 2t and 2t + 1 of a product are rows of x: those past the last are not looked at. */
  template <bool kSeparates>
  __device__ __forceinline__ void leave(const Sums& sums, int turn) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, t = lane % 4;
    if (t >= pairs_) return;
    const float *e = sums.even, *o = sums.odd;
    float4* const to = first_ + turn * sets_ * setVectors() + warpVectors() * (static_cast<int>(threadIdx.x) / 32) +
                       lane / 4 * pairs_ + t;
    if (kSeparates && sets_ == 2) {
      to[0] = make_float4(e[0], e[1], e[2], e[3]);
      to[setVectors()] = make_float4(o[0], o[1], o[2], o[3]);
    } else {
      to[0] = make_float4(e[0] + o[0], e[1] + o[1], e[2] + o[2], e[3] + o[3]);
    }
  }

  /** Of row `of` of the tile's sets with a row of x. */
  __device__ __forceinline__ float total(int of, int row, int turn) const {
    const float4* const from = first_ + (turn * sets_ + of / kTile) * setVectors() + of % 8 * pairs_ + row / 2;
    const float* const first = reinterpret_cast<const float*>(from) + of / 8 % 2 * 2 + row % 2;
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += first[warp * warpVectors() * 4];
    return sum;
  }

 private:
  __device__ __forceinline__ int warpVectors() const { return kTile / 2 * pairs_; }
  __device__ __forceinline__ int setVectors() const { return kWarps * warpVectors(); }

  float4* first_;
  int sets_, pairs_;
};

/** An element of out, and what its sums will meet. */
class Element {
 public:
  /** Asks for it long before the sums are there. `place`: among the tile's elements, row by row. */
  __device__ __forceinline__ void begin(const Arguments& a, int tile, int place) {
    row_ = place / a.outputs;
    within_ = place - row_ * a.outputs;
    column_ = static_cast<int64_t>(tile) * a.outputs + within_;
    has_ = row_ < a.x.rows && column_ < a.out.columns;
    if (!has_) return;
    const bool gates = a.end == ProductEnd::kSwiglu;
    if (a.hasRowScales) scale_ = scaleOf(a, column_);
    if (a.hasRowScales && gates) upScale_ = scaleOf(a, a.out.columns + column_);
    if (a.bias.data) bias_ = loadFloat(a.bias.data, a.bias.dtype, column_);
    if (a.bias.data && gates) upBias_ = loadFloat(a.bias.data, a.bias.dtype, a.out.columns + column_);
    if (a.end == ProductEnd::kAdd) before_ = loadFloat(a.out.data, a.out.dtype, at(a));
  }

  __device__ __forceinline__ void finish(const Arguments& a, const Partials& partials, const float* inputScales,
                                         int turn) const {
    if (!has_) return;
    const float inputScale = a.hasRowScales ? inputScales[row_] : 1.0f;
    const float sum = partials.total(within_, row_, turn) * (scale_ * inputScale) + bias_;
    if (a.end == ProductEnd::kStore) return storeFloat(a.out.data, a.out.dtype, at(a), sum);
    const float product = roundTo(a.productType, sum);
    if (a.end == ProductEnd::kAdd) return storeFloat(a.out.data, a.out.dtype, at(a), before_ + product);
    const float upSum = partials.total(within_ + a.outputs, row_, turn) * (upScale_ * inputScale) + upBias_;
    const float up = roundTo(a.productType, upSum);
    storeFloat(a.out.data, a.out.dtype, at(a), up * (product / (1.0f + expf(-product))));
  }

 private:
  __device__ __forceinline__ int64_t at(const Arguments& a) const { return row_ * a.out.stride + column_; }

  __device__ __forceinline__ static float scaleOf(const Arguments& a, int64_t row) {
    return loadFloat(a.scales, a.scaleType, static_cast<uint32_t>(row) / static_cast<uint32_t>(a.groupRows));
  }

  int within_ = 0, row_ = 0;
  int64_t column_ = 0;
  bool has_ = false;
  float bias_ = 0, upBias_ = 0, before_ = 0, scale_ = 1, upScale_ = 1;
};

/** A lane's elements of a tile. */
struct Elements {
  static constexpr int kMost = kTile * static_cast<int>(kMostFusedRows) / 32;
  Element each[kMost];

  __device__ __forceinline__ void begin(const Arguments& a, int tile, int count) {
    if (tile >= a.tiles) return;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i < count) each[i].begin(a, tile, static_cast<int>(threadIdx.x) % 32 + 32 * i);
    }
  }
};

/** The warp that finishes tiles. What a tile's sums will meet is asked for a tile ahead: it may come from memory. */
__device__ __forceinline__ void finishTiles(const Arguments& a, uint8_t* shared, uint32_t base) {
  const Partials partials(a, shared);
  const auto* const inputScales = reinterpret_cast<const float*>(shared + a.layout.scales);
  const int count = (a.outputs * static_cast<int>(a.x.rows) + 31) / 32, stride = static_cast<int>(gridDim.x);
  ptx::waitForPredecessors();
  int ordinal = 0;
  Elements now, next;
  now.begin(a, static_cast<int>(blockIdx.x), count);
  for (int tile = static_cast<int>(blockIdx.x); tile < a.tiles; tile += stride) {
    next.begin(a, tile + stride, count);
    const Turn turn(base, a.layout, ordinal++);
    ptx::waitBarrier(turn.full(), turn.phase);
#pragma unroll
    for (int i = 0; i < Elements::kMost; ++i) {
      if (i < count) now.each[i].finish(a, partials, inputScales, turn.turn);
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) ptx::arrive(turn.free());
    now = next;
  }
}

}  // namespace octavo::cuda::rows
