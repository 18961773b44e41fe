// The memory that a product with a quantised weight may use (CUDA; the CPU needs none). It is planned before a device
// is there: so its size depends on shapes alone.
#pragma once

#include <cstddef>

#include "ops/quantized_matrix.h"

namespace octavo {

/**
 * Device memory that a product may use between its first and its last instruction, used by one stream. Less than
 * LinearScratchLayout asks for, or none, means a slower way; quantised activations need their part of it.
 */
struct LinearScratch {
  void* data = nullptr;
  size_t bytes = 0;
};

/**
 * What is in it: rows of x after they were quantised, then numbers of so many rows of the weight. Quantised rows are
 * numbers, or codes of 8 bits and then their scales.
 */
struct LinearScratchLayout {
  static constexpr size_t kWeightBytes = size_t{32} << 20;  // of weight rows at a time, where 128 rows take no more

  int64_t activationStride = 0, weightStride = 0;  // elements
  int64_t weightRows = 0;                          // at a time
  size_t activationBytes = 0, weightBytes = 0;

  static constexpr int64_t kScaledColumns = 128;   // of codes with a scale of their own where groups have one
  int64_t codeStride = 0;                          // bytes
  int64_t scaleStride = 0;                         // scales of a group of columns: those of all rows, padded
  size_t scaleOffset = 0;                          // bytes
  size_t bytes = 0;

  /** Of a weight of [rows, columns] that Ops::arrange puts in order: some of its rows at a time, 64 at least. */
  static size_t arrangeBytes(int64_t rows, int64_t columns);
  /** Of these, what the order of act-order columns takes. */
  static size_t orderBytes(int64_t columns);

  /** For `tokens` rows of x of `dtype`, and a weight of [rows, columns]. */
  LinearScratchLayout(DType dtype, int64_t tokens, int64_t rows, int64_t columns, ActivationScaling scaling);
};

}  // namespace octavo
