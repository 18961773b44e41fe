// Dot products of rows: the arithmetic of `linear` and of attention scores. Included by row_kernels_body.h only.
#pragma once

#include "ops/cpu/lanes.h"
#include "ops/cpu/row_kernels.h"
#include "ops/cpu/weight_lanes.h"

namespace octavo::cpu {
namespace {

static_assert(kTileColumns == 4, "sumFourLanes sums the columns of a patch");

/** One or four rows of weights, as they are stored, against one row x. */
template <typename Weights, int kRows>
OCTAVO_INLINE void dotGroup(float* out, const float* x, const typename Weights::Element* weight, int64_t stride,
                            int64_t depth) {
  float total[kRows] = {};
  for (int64_t start = 0; start < depth; start += kDepthBlock) {
    const int64_t end = depth - start < kDepthBlock ? depth : start + kDepthBlock;
    const int64_t whole = start + (end - start) / kLanes * kLanes;
    Lanes sum[kRows] = {};
    for (int64_t k = start; k < whole; k += kLanes) {
      Lanes activation;
      loadLanes(activation, x + k);
      for (int row = 0; row < kRows; ++row) {
        Lanes value;
        Weights::load(value, weight + row * stride + k);
        prefetch(weight + (row + kRows) * stride + k);  // the next group: rows are too short for the hardware to see
        sum[row] += activation * value;
      }
    }
    for (int row = 0; row < kRows && whole < end; ++row) {
      Lanes activation, value;
      loadLanes(activation, x + whole);
      loadTail<Weights>(value, weight + row * stride + whole, end - whole);
      sum[row] += activation * value;
    }
    float part[kRows];
    if constexpr (kRows == 4) sumFourLanes(part, sum);
    else part[0] = sumLanes(sum[0]);
    for (int row = 0; row < kRows; ++row) total[row] += part[row];
  }
  for (int row = 0; row < kRows; ++row) out[row] = total[row];
}

template <typename Weights>
void dotsOf(float* out, const float* x, const void* weight, int64_t stride, int64_t rows, int64_t depth) {
  const auto* elements = static_cast<const typename Weights::Element*>(weight);
  int64_t n = 0;
  for (; n + 4 <= rows; n += 4) dotGroup<Weights, 4>(out + n, x, elements + n * stride, stride, depth);
  for (; n < rows; ++n) dotGroup<Weights, 1>(out + n, x, elements + n * stride, stride, depth);
}

void dots(float* out, const float* x, const void* weight, DType dtype, int64_t stride, int64_t rows,
          int64_t depth) {
  if (dtype == DType::kF32) dotsOf<Fp32Weights>(out, x, weight, stride, rows, depth);
  else if (dtype == DType::kBF16) dotsOf<BrainWeights>(out, x, weight, stride, rows, depth);
  else dotsOf<HalfWeights>(out, x, weight, stride, rows, depth);
}

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
    float sums[kTileColumns];
    sumFourLanes(sums, sum[m]);
    for (int n = 0; n < kTileColumns; ++n) {
      const float before = accumulate ? out[m * outStride + n] : 0.0f;
      out[m * outStride + n] = before + sums[n];
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
