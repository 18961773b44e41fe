// Dot products of rows: the arithmetic of `linear` and of attention scores. Included by row_kernels_body.h only.
#pragma once

#include "ops/cpu/lanes.h"
#include "ops/cpu/row_kernels.h"

namespace octavo::cpu {
namespace {

/** A kRows × kTileColumns patch of products whose sums stay in registers. */
template <int kRows>
OCTAVO_INLINE void tilePatch(float* out, int64_t outStride, const float* x, int64_t xStride, const float* weight,
                             int64_t weightStride, int64_t depth, bool accumulate) {
  Lanes sum[kRows][kTileColumns] = {};
  for (int64_t k = 0; k < depth; k += kLanes) {
    Lanes value[kTileColumns];
    for (int n = 0; n < kTileColumns; ++n) loadLanes(value[n], weight + n * weightStride + k);
    for (int m = 0; m < kRows; ++m) {
      Lanes activation;
      loadLanes(activation, x + m * xStride + k);
      for (int n = 0; n < kTileColumns; ++n) sum[m][n] += activation * value[n];
    }
  }
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kTileColumns; ++n) {
      const float before = accumulate ? out[m * outStride + n] : 0.0f;
      out[m * outStride + n] = before + sumLanes(sum[m][n]);
    }
  }
}

void tile(float* out, int64_t outStride, const float* x, int64_t xStride, int64_t rows, const float* weight,
          int64_t weightStride, int64_t columns, int64_t depth, bool accumulate) {
  for (int64_t n = 0; n < columns; n += kTileColumns) {
    const float* panel = weight + n * weightStride;
    int64_t m = 0;
    for (; m + kTileRows <= rows; m += kTileRows) {
      tilePatch<kTileRows>(out + m * outStride + n, outStride, x + m * xStride, xStride, panel, weightStride,
                           depth, accumulate);
    }
    for (; m < rows; ++m) {
      tilePatch<1>(out + m * outStride + n, outStride, x + m * xStride, xStride, panel, weightStride, depth,
                   accumulate);
    }
  }
}

}  // namespace
}  // namespace octavo::cpu
