// Parts of a view: what a product with some rows of a weight writes and adds.
#pragma once

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

}  // namespace octavo
