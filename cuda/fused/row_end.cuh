// What becomes of a tile's sums: those of eight warps are met in a fixed order and stored, added or gated.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/fused/row_layout.cuh"
#include "cuda/fused/row_weights.cuh"

namespace octavo::cuda::rows {

/** A thread finishes one element of out of every tile, or none. */
class TileEnd {
 public:
  __device__ __forceinline__ TileEnd(const Arguments& a, uint8_t* shared)
      : a_(a), inputScales_(reinterpret_cast<const float*>(shared + a.layout.scales)),
        partials_(reinterpret_cast<float4*>(shared + a.layout.partials)),
        within_(static_cast<int>(threadIdx.x) % a.outputs), row_(static_cast<int>(threadIdx.x) / a.outputs) {}

  /** Asks for what the tile's sums will meet, long before they do. */
  __device__ __forceinline__ void begin(int tile) {
    column_ = static_cast<int64_t>(tile) * a_.outputs + within_;
    has_ = row_ < a_.x.rows && column_ < a_.out.columns;
    if (!has_) return;
    if (a_.hasRowScales) scale_ = scaleOf(column_);
    if (a_.hasRowScales && a_.end == ProductEnd::kSwiglu) upScale_ = scaleOf(a_.out.columns + column_);
    if (a_.bias.data) bias_ = loadFloat(a_.bias.data, a_.bias.dtype, column_);
    if (a_.end == ProductEnd::kAdd) before_ = loadFloat(a_.out.data, a_.out.dtype, place());
    if (a_.end == ProductEnd::kSwiglu && a_.bias.data) {
      upBias_ = loadFloat(a_.bias.data, a_.bias.dtype, a_.out.columns + column_);
    }
  }

  /** Columns 2t and 2t + 1 of a product are rows of x: those past the last are not looked at. */
  template <bool kSeparates>
  __device__ __forceinline__ void leave(const Sums& sums, int turn) const {
    if (static_cast<int64_t>(threadIdx.x % 4) * 2 >= a_.x.rows) return;
    const float *e = sums.even, *o = sums.odd;
    float4* const to = partials_ + turn * a_.layout.sets * kWorkers + threadIdx.x;
    if (kSeparates && a_.layout.sets == 2) {
      to[0] = make_float4(e[0], e[1], e[2], e[3]);
      to[kWorkers] = make_float4(o[0], o[1], o[2], o[3]);
    } else {
      to[0] = make_float4(e[0] + o[0], e[1] + o[1], e[2] + o[2], e[3] + o[3]);
    }
  }

  /** After all warps have left theirs. */
  __device__ __forceinline__ void finish(int turn) const {
    if (!has_) return;
    const float sum = total(within_, turn, scale_) + bias_;
    if (a_.end == ProductEnd::kStore) return storeFloat(a_.out.data, a_.out.dtype, place(), sum);
    const float product = roundTo(a_.productType, sum);
    if (a_.end == ProductEnd::kAdd) return storeFloat(a_.out.data, a_.out.dtype, place(), before_ + product);
    const float up = roundTo(a_.productType, total(within_ + a_.outputs, turn, upScale_) + upBias_);
    storeFloat(a_.out.data, a_.out.dtype, place(), up * (product / (1.0f + expf(-product))));
  }

 private:
  __device__ __forceinline__ int64_t place() const { return row_ * a_.out.stride + column_; }

  __device__ __forceinline__ float scaleOf(int64_t row) const {
    return loadFloat(a_.scales, a_.scaleType, static_cast<uint32_t>(row) / static_cast<uint32_t>(a_.groupRows));
  }

  /** Row `of` of the tile's sets: register 2 · (of / 8) + row % 2 of lane 4 · (of % 8) + row / 2 of every warp. */
  __device__ __forceinline__ float total(int of, int turn, float scale) const {
    const int set = turn * a_.layout.sets + of / kTile;
    const float* first = reinterpret_cast<const float*>(partials_ + set * kWorkers + of % 8 * 4 + row_ / 2) +
                         of / 8 % 2 * 2 + row_ % 2;
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += first[warp * 32 * 4];
    return a_.hasRowScales ? sum * (scale * inputScales_[row_]) : sum;
  }

  const Arguments& a_;
  const float* inputScales_;  // of the rows of x, where scales are those of rows
  float4* partials_;
  int within_, row_;
  int64_t column_ = 0;
  bool has_ = false;
  float bias_ = 0, upBias_ = 0, before_ = 0, scale_ = 1, upScale_ = 1;
};

}  // namespace octavo::cuda::rows
