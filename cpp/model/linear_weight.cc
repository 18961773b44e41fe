#include "model/linear_weight.h"

#include "ops/tensor_parts.h"

namespace octavo {

void LinearWeight::multiply(Ops& ops, const Matrix& out, const Matrix& x, const Vector& bias,
                            const LinearScratch& scratch, Stream& stream) const {
  for (const LinearPiece& piece : pieces) {
    const Matrix columns = columnsOf(out, piece.firstRow, piece.rows());
    const Vector part = elementsOf(bias, piece.firstRow, piece.rows());
    if (piece.isQuantized()) ops.linear(columns, x, piece.quantized, part, scratch, stream);
    else ops.linear(columns, x, piece.dense, part, stream);
  }
}

void LinearWeight::multiplyFused(Ops& ops, const FusedLinear& fused, const Vector& bias, const LinearScratch& scratch,
                                 Stream& stream) const {
  const LinearPiece& piece = pieces.front();
  if (pieces.size() != 1) {
    if (fused.norm.data) ops.rmsNorm(fused.normed, fused.x, fused.norm, fused.epsilon, stream);
    const Matrix& product = fused.end == ProductEnd::kStore ? fused.out : fused.product;
    multiply(ops, product, fused.norm.data ? fused.normed : fused.x, bias, scratch, stream);
    if (fused.end == ProductEnd::kAdd) ops.add(fused.out, product, stream);
    if (fused.end == ProductEnd::kSwiglu) ops.swiglu(fused.out, product, stream);
    return;
  }
  if (piece.isQuantized()) ops.fusedLinear(fused, piece.quantized, bias, scratch, stream);
  else ops.fusedLinear(fused, piece.dense, bias, stream);
}

bool LinearWeight::canFuse(const Ops& ops, const FusedLinear& fused) const {
  if (pieces.size() != 1) return false;
  const LinearPiece& piece = pieces.front();
  return piece.isQuantized() ? ops.canFuse(fused, piece.quantized) : ops.canFuse(fused, piece.dense);
}

}  // namespace octavo
