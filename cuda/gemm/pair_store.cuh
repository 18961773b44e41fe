// What becomes of sums that a lane holds in pairs of neighbouring columns: the bias, rounding and the store. A kernel
// calls it with the same pairs whatever is done to them here.
#pragma once

#include "cuda/device/floats.cuh"
#include "ops/tensor.h"

namespace octavo::cuda {

struct PairStore {
  Matrix out;
  Vector bias;     // absent, or one an output column
  bool isAligned;  // pairs that begin at even columns lie on the boundary of a pair of out's elements

  PairStore(const Matrix& out, const Vector& bias)
      : out(out), bias(bias), isAligned(reinterpret_cast<uintptr_t>(out.data) % (2 * dtypeBytes(out.dtype)) == 0 &&
                                        out.stride % 2 == 0 && out.columns % 2 == 0) {}

  __device__ __forceinline__ float biasAt(int64_t column) const {
    return bias.data && column < out.columns ? loadFloat(bias.data, bias.dtype, column) : 0.0f;
  }

  /** `column` is even; low and high have their bias. */
  __device__ __forceinline__ void store(int64_t row, int64_t column, float low, float high) const {
    if (row >= out.rows || column >= out.columns) return;
    int64_t index = row * out.stride + column;
    if (!isAligned) {
      storeFloat(out.data, out.dtype, index, low);
      if (column + 1 < out.columns) storeFloat(out.data, out.dtype, index + 1, high);
    } else if (out.dtype == DType::kF32) {
      reinterpret_cast<float2*>(out.data)[index / 2] = make_float2(low, high);
    } else {
      uint32_t pair = out.dtype == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
      reinterpret_cast<uint32_t*>(out.data)[index / 2] = pair;
    }
  }
};

}  // namespace octavo::cuda
