#include "model/piece_views.h"

namespace octavo {

namespace {

LinearPiece denseView(const PiecePlace& piece, void* data) {
  const int64_t columns = piece.part->shape[1];
  return {piece.firstRow, {data, piece.dtype, piece.rows, columns, columns}, {}};
}

LinearPiece codedView(const PiecePlace& piece, const PieceValues& values, char* arena, bool onHost) {
  const QuantizedSource& source = *piece.part->quantized;
  LinearPiece view;
  view.firstRow = piece.firstRow;
  QuantizedMatrix& matrix = view.quantized;
  matrix.codes = arena + piece.data;
  matrix.codeType = source.codeType;
  matrix.rows = piece.rows;
  matrix.columns = source.columns;
  matrix.codeStride = piece.codeStride;
  matrix.scales = arena + piece.scales;
  matrix.scaleType = source.scales.dtype;
  matrix.groups = source.groups();
  matrix.groupRows = piece.groupRows();
  matrix.groupColumns = source.groupColumns;
  if (source.zeros) matrix.zeros = reinterpret_cast<const uint8_t*>(arena + piece.zeros);
  if (!values.groupIndex.empty()) matrix.groupIndex = reinterpret_cast<const int32_t*>(arena + piece.groupIndex);
  if (onHost) return view;
  matrix.activations = source.activations;
  matrix.activations.inputScale = values.inputScale;
  return view;
}

bool isAlike(const PieceValues& above, const PieceValues& below, bool onHost) {
  return above.groupIndex == below.groupIndex && (onHost || above.inputScale == below.inputScale);
}

/** Other rows follow in the same memory. */
void cutTiles(QuantizedMatrix& matrix) {
  if (matrix.rows % QuantizedMatrix::kTileRows != 0) matrix.hasWholeTiles = false;
}

}  // namespace

LinearWeight viewOf(const std::vector<PiecePlace>& pieces, const std::vector<PieceValues>& values, void* arena,
                    bool onHost) {
  char* const bytes = static_cast<char*>(arena);
  LinearWeight weight;
  int64_t runRow = 0;  // where the parts that lie end to end begin
  for (size_t index = 0; index < pieces.size(); ++index) {
    const PiecePlace& piece = pieces[index];
    if (!piece.continues) runRow = piece.firstRow;
    if (piece.continues && isAlike(values[index - 1], values[index], onHost)) {
      weight.pieces.back().quantized.rows += piece.rows;
    } else if (piece.part->quantized) {
      if (piece.continues) cutTiles(weight.pieces.back().quantized);
      weight.pieces.push_back(codedView(piece, values[index], bytes, onHost));
      if ((piece.firstRow - runRow) % QuantizedMatrix::kTileRows != 0) {
        weight.pieces.back().quantized.hasWholeTiles = false;
      }
    } else {
      weight.pieces.push_back(denseView(piece, bytes + piece.data));
    }
  }
  return weight;
}

}  // namespace octavo
