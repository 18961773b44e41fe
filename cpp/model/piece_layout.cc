#include "model/piece_layout.h"

namespace octavo {

namespace {

constexpr size_t kAlignment = 256;

size_t take(size_t& end, size_t bytes) {
  const size_t place = end;
  end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

/** Whether `next` can be the rows below `piece` of one matrix. */
bool joins(const PiecePlace& piece, const PiecePlace& next) {
  if (!piece.part->quantized || !next.part->quantized) return false;
  const QuantizedSource& above = *piece.part->quantized;
  const QuantizedSource& below = *next.part->quantized;
  return above.codeType == below.codeType && above.groupColumns == below.groupColumns &&
         piece.groupRows() == next.groupRows() && piece.rows % piece.groupRows() == 0 &&
         above.scales.dtype == below.scales.dtype && above.zeros.has_value() == below.zeros.has_value() &&
         above.activations.scaling == below.activations.scaling && above.activations.group == below.activations.group;
}

size_t codeBytes(const PiecePlace& piece, int64_t rows) { return static_cast<size_t>(rows * piece.codeStride); }
size_t scaleCount(const PiecePlace& piece, int64_t rows) {
  return static_cast<size_t>((rows + piece.groupRows() - 1) / piece.groupRows() * piece.part->quantized->groups());
}
size_t scaleBytes(const PiecePlace& piece, int64_t rows) {
  return scaleCount(piece, rows) * dtypeBytes(piece.part->quantized->scales.dtype);
}

/** Pieces [begin, end) of one matrix: all codes, all scales, all zeros, to whole tiles at the end. */
void placeRun(std::vector<PiecePlace>& pieces, size_t begin, size_t end, size_t& arena) {
  size_t codes = 0, scales = 0, zeros = 0;
  for (size_t index = begin; index < end; ++index) {
    PiecePlace& piece = pieces[index];
    piece.data = codes;
    piece.scales = scales;
    piece.zeros = zeros;
    piece.continues = index > begin;
    const int64_t before = piece.firstRow - pieces[begin].firstRow, last = before + piece.rows;
    const bool ends = index + 1 == end;
    const int64_t rows = ends ? QuantizedMatrix::paddedRows(piece.part->quantized->codeType, last) - before : piece.rows;
    codes += codeBytes(piece, rows);
    scales += scaleBytes(piece, rows);
    zeros += piece.part->quantized->zeros ? scaleCount(piece, rows) : 0;
  }
  const size_t codesAt = take(arena, codes), scalesAt = take(arena, scales), zerosAt = take(arena, zeros);
  for (size_t index = begin; index < end; ++index) {
    PiecePlace& piece = pieces[index];
    piece.data += codesAt;
    piece.scales += scalesAt;
    piece.zeros += zerosAt;
    const QuantizedSource& source = *piece.part->quantized;
    if (source.groupIndex) piece.groupIndex = take(arena, static_cast<size_t>(source.columns) * sizeof(int32_t));
  }
}

void placeDense(PiecePlace& piece, std::optional<DType> dtype, size_t& arena) {
  piece.dtype = dtype.value_or(piece.part->dtype);
  size_t bytes = dtypeBytes(piece.dtype);
  for (const int64_t extent : piece.part->shape) bytes *= static_cast<size_t>(extent);
  piece.data = take(arena, bytes);
}

}  // namespace

std::vector<PiecePlace> placePieces(const WeightEntry& entry, std::optional<DType> dtype, size_t& end) {
  std::vector<PiecePlace> pieces;
  int64_t row = 0;
  for (const WeightPart& part : entry.parts) {
    PiecePlace& piece = pieces.emplace_back();
    piece.part = &part;
    piece.firstRow = row;
    piece.rows = part.weightShape().front();
    if (part.quantized) piece.codeStride = QuantizedMatrix::strideOf(part.quantized->codeType, part.quantized->columns);
    row += piece.rows;
  }
  for (size_t begin = 0; begin < pieces.size();) {
    size_t next = begin + 1;
    if (!pieces[begin].part->quantized) {
      placeDense(pieces[begin], dtype, end);
    } else {
      while (next < pieces.size() && joins(pieces[next - 1], pieces[next])) ++next;
      placeRun(pieces, begin, next, end);
    }
    begin = next;
  }
  return pieces;
}

}  // namespace octavo
