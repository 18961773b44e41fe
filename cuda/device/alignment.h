// Which views allow 16-byte accesses.
#pragma once

#include "ops/tensor.h"

namespace octavo::cuda {

/** `count` elements a row, rows `stride` apart, every run of 8 elements on a 16-byte boundary. */
inline bool isChunked(const void* data, int64_t count, int64_t stride) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && count % 8 == 0 && stride % 8 == 0;
}

inline bool isChunked(const Matrix& matrix) { return isChunked(matrix.data, matrix.columns, matrix.stride); }
inline bool isChunked(const Heads& heads) { return isChunked(heads.data, heads.dim, heads.tokenStride); }
inline bool isChunked(const Vector& vector) { return isChunked(vector.data, vector.size, 0); }

constexpr int64_t ceilDivide(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

}  // namespace octavo::cuda
