// Rows of tensors as fp32 and back.
#pragma once

#include <cstring>

#include "ops/cpu/row_kernels.h"
#include "ops/tensor.h"

namespace octavo::cpu {

inline void* element(void* data, DType dtype, int64_t index) {
  return static_cast<char*>(data) + index * static_cast<int64_t>(dtypeBytes(dtype));
}

inline const void* element(const void* data, DType dtype, int64_t index) {
  return static_cast<const char*>(data) + index * static_cast<int64_t>(dtypeBytes(dtype));
}

inline void* rowOf(const Matrix& matrix, int64_t row) { return element(matrix.data, matrix.dtype, row * matrix.stride); }

inline void* headOf(const Heads& heads, int64_t token, int64_t head) {
  return element(heads.data, heads.dtype, token * heads.tokenStride + head * heads.dim);
}

inline void loadRow(float* to, const Matrix& matrix, int64_t row) {
  rowKernels().load(to, rowOf(matrix, row), matrix.dtype, matrix.columns);
}

inline void storeRow(const Matrix& matrix, int64_t row, const float* from) {
  rowKernels().store(rowOf(matrix, row), matrix.dtype, from, matrix.columns);
}

/** Converts `count` elements, exact when the dtypes are the same. */
inline void convertElements(void* to, DType toType, const void* from, DType fromType, int64_t count) {
  constexpr int64_t kChunk = 512;
  if (toType == fromType) {
    std::memmove(to, from, count * dtypeBytes(toType));
    return;
  }
  float values[kChunk];
  for (int64_t start = 0; start < count; start += kChunk) {
    const int64_t some = count - start < kChunk ? count - start : kChunk;
    rowKernels().load(values, element(from, fromType, start), fromType, some);
    rowKernels().store(element(to, toType, start), toType, values, some);
  }
}

}  // namespace octavo::cpu
