// Parts of a view: what a product with some rows of a weight writes and adds.
#pragma once

#include "ops/quantized_matrix.h"
#include "ops/tensor.h"

namespace octavo {

inline Matrix columnsOf(const Matrix& matrix, int64_t first, int64_t count) {
  char* const data = static_cast<char*>(matrix.data) + first * static_cast<int64_t>(dtypeBytes(matrix.dtype));
  return {data, matrix.dtype, matrix.rows, count, matrix.stride};
}

/** Absent where the vector is. */
inline Vector elementsOf(const Vector& vector, int64_t first, int64_t count) {
  if (!vector.data) return {};
  const char* const data =
      static_cast<const char*>(vector.data) + first * static_cast<int64_t>(dtypeBytes(vector.dtype));
  return {data, vector.dtype, count};
}

inline Matrix rowsOf(const Matrix& matrix, int64_t first, int64_t count) {
  const int64_t bytes = first * matrix.stride * static_cast<int64_t>(dtypeBytes(matrix.dtype));
  return {static_cast<char*>(matrix.data) + bytes, matrix.dtype, count, matrix.columns, matrix.stride};
}

/** `first` and `count` are multiples of weight.groupRows. */
inline QuantizedMatrix rowsOf(const QuantizedMatrix& weight, int64_t first, int64_t count) {
  QuantizedMatrix part = weight;
  const int64_t scales = first / weight.groupRows * weight.groups;
  part.rows = count;
  part.codes = static_cast<const char*>(weight.codes) + first * weight.codeStride;
  part.scales = static_cast<const char*>(weight.scales) + scales * static_cast<int64_t>(dtypeBytes(weight.scaleType));
  if (weight.zeros) part.zeros = weight.zeros + scales;
  return part;
}

}  // namespace octavo
