// The weight of a linear layer: one matrix, or several below each other where a checkpoint stores its rows differently.
#pragma once

#include <vector>

#include "ops/ops.h"

namespace octavo {

/** Rows from `firstRow` on, as numbers or as codes. */
struct LinearPiece {
  int64_t firstRow = 0;
  Matrix dense;
  QuantizedMatrix quantized;  // codes == nullptr: the piece is dense

  bool isQuantized() const { return quantized.codes != nullptr; }
  int64_t rows() const { return isQuantized() ? quantized.rows : dense.rows; }
};

struct LinearWeight {
  std::vector<LinearPiece> pieces;

  static LinearWeight of(const Matrix& dense) { return {{{0, dense, {}}}}; }

  /** out = x · weightᵀ + bias, a product a piece; see Ops::linear. */
  void multiply(Ops& ops, const Matrix& out, const Matrix& x, const Vector& bias, const LinearScratch& scratch,
                Stream& stream) const;

  /** The same with what stands before and behind it in one op where it is of one piece; see Ops::fusedLinear. */
  void multiplyFused(Ops& ops, const FusedLinear& fused, const Vector& bias, const LinearScratch& scratch,
                     Stream& stream) const;
  /** Of one piece, and where the device gains by it. */
  bool canFuse(const Ops& ops, const FusedLinear& fused) const;
};

}  // namespace octavo
