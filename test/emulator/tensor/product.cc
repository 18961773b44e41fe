#include "tensor/product.h"

namespace octavo::emulator {

namespace {

constexpr int kLanes = 8;
typedef float Floats __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef int32_t Integers __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

[[gnu::always_inline]] inline void addTo(float* sums, const Floats& part) { *reinterpret_cast<Floats*>(sums) += part; }
[[gnu::always_inline]] inline void addTo(int32_t* sums, const Floats& part) {
  *reinterpret_cast<Integers*>(sums) += __builtin_convertvector(part, Integers);
}

// kRows × kVectors vectors of sums stay in registers for a whole step.
template <int kRows, int kVectors, class Sum>
[[gnu::always_inline]] inline void addBlock(Sum* sums, const float* left, const float* right, int columns, int depth,
                                            int step) {
  for (int from = 0; from < depth; from += step) {
    Floats parts[kRows][kVectors] = {};
    for (int k = from; k < from + step; ++k) {
      Floats values[kVectors];
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i) {
        values[i] = *reinterpret_cast<const Floats*>(right + k * columns + i * kLanes);
      }
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        const float factor = left[row * depth + k];
#pragma GCC unroll 8
        for (int i = 0; i < kVectors; ++i) parts[row][i] += factor * values[i];
      }
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i) addTo(sums + row * columns + i * kLanes, parts[row][i]);
    }
  }
}

template <class Sum>
[[gnu::always_inline]] inline void addAll(Sum* sums, const float* left, const float* right, int rows, int columns,
                                          int depth, int step) {
  for (int row = 0; row < rows; row += 4) {
    int column = 0;
    for (; column + 2 * kLanes <= columns; column += 2 * kLanes) {
      addBlock<4, 2>(sums + row * columns + column, left + row * depth, right + column, columns, depth, step);
    }
    for (; column < columns; column += kLanes) {
      addBlock<4, 1>(sums + row * columns + column, left + row * depth, right + column, columns, depth, step);
    }
  }
}

}  // namespace

void addProducts(float* sums, const float* left, const float* right, int rows, int columns, int depth, int step) {
  addAll(sums, left, right, rows, columns, depth, step);
}

void addProducts(int32_t* sums, const float* left, const float* right, int rows, int columns, int depth, int step) {
  addAll(sums, left, right, rows, columns, depth, step);
}

}  // namespace octavo::emulator
