#include "model/linear_weight.h"

namespace octavo {

namespace {

Matrix columnsOf(const Matrix& out, int64_t first, int64_t count) {
  char* const data = static_cast<char*>(out.data) + first * static_cast<int64_t>(dtypeBytes(out.dtype));
  return {data, out.dtype, out.rows, count, out.stride};
}

Vector elementsOf(const Vector& bias, int64_t first, int64_t count) {
  if (!bias.data) return {};
  const char* const data = static_cast<const char*>(bias.data) + first * static_cast<int64_t>(dtypeBytes(bias.dtype));
  return {data, bias.dtype, count};
}

}  // namespace

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
