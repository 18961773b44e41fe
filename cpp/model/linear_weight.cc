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

}  // namespace octavo
