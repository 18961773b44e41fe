#include "model/weight_transfer.h"

#include <algorithm>
#include <tuple>

namespace octavo {

namespace {

/** Rows of a stored tensor that must be repacked together. */
int64_t unitRows(const Repack& repack) { return repack.kind == RepackKind::kAwqCodes ? 8 : 1; }

Repack repackOf(RepackKind kind, const StoredTensor& tensor, int64_t stride) {
  Repack repack;
  repack.kind = kind;
  repack.columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  repack.width = static_cast<int32_t>(dtypeBytes(tensor.dtype));
  repack.stride = stride;
  return repack;
}

/** Codes that lie as kernels want them are bytes to be copied. */
WeightTransfer codesOf(const PiecePlace& piece) {
  const WeightPart& part = *piece.part;
  const QuantizedSource& source = *part.quantized;
  if (source.layout == StoredLayout::kGptq) {
    return {&part, part.dtype, piece.data, repackOf(RepackKind::kTranspose, part, piece.codeStride)};
  }
  if (source.layout == StoredLayout::kAwq) {
    return {&part, part.dtype, piece.data, repackOf(RepackKind::kAwqCodes, part, piece.codeStride)};
  }
  const Repack rows = repackOf(RepackKind::kRows, part, piece.codeStride);
  const bool asTheyLie = rows.columns * rows.width == piece.codeStride;
  return {&part, part.dtype, piece.data, asTheyLie ? std::nullopt : std::optional(rows)};
}

WeightTransfer scalesOf(const PiecePlace& piece) {
  const QuantizedSource& source = *piece.part->quantized;
  const StoredTensor& scales = source.scales;
  const auto width = static_cast<int64_t>(dtypeBytes(scales.dtype));
  WeightTransfer transfer{&scales, scales.dtype, piece.scales, std::nullopt};
  if (source.layout != StoredLayout::kRows) {
    transfer.repack = repackOf(RepackKind::kTranspose, scales, source.groups() * width);
  } else if (source.isRepeated()) {
    transfer.repack = repackOf(RepackKind::kRepeat, scales, width);
    transfer.repack->count = piece.rows;
  }
  return transfer;
}

WeightTransfer zerosOf(const PiecePlace& piece) {
  const QuantizedSource& source = *piece.part->quantized;
  const RepackKind kind = source.layout == StoredLayout::kAwq    ? RepackKind::kAwqZeros
                          : source.layout == StoredLayout::kGptq ? RepackKind::kGptqZeros
                                                                 : RepackKind::kPackedZeros;
  Repack repack = repackOf(kind, *source.zeros, source.groups());
  repack.bits = codeBits(source.codeType);
  repack.zeroOffset = source.zeroOffset;
  repack.count = piece.scaleRows();
  return {&*source.zeros, DType::kU8, piece.zeros, repack};
}

void appendPiece(std::vector<WeightTransfer>& transfers, const PiecePlace& piece) {
  if (!piece.part->quantized) {
    transfers.push_back({piece.part, piece.dtype, piece.data, std::nullopt});
    return;
  }
  transfers.push_back(codesOf(piece));
  transfers.push_back(scalesOf(piece));
  if (piece.part->quantized->zeros) transfers.push_back(zerosOf(piece));
}

void appendParts(std::vector<WeightTransfer>& transfers, const ParameterPlace& place) {
  size_t offset = place.offset;
  for (const WeightPart& part : place.entry->parts) {
    transfers.push_back({&part, place.dtype, offset, std::nullopt});
    offset += part.bytes / dtypeBytes(part.dtype) * dtypeBytes(place.dtype);
  }
}

}  // namespace

size_t WeightTransfer::chunkBytes(size_t sliceBytes) const {
  if (!repack) return std::min<uint64_t>(tensor->bytes, sliceBytes);
  const auto unit = static_cast<size_t>(unitRows(*repack) * repack->columns * repack->width);
  return std::min<uint64_t>(tensor->bytes, std::max(unit, sliceBytes / unit * unit));
}

std::vector<WeightTransfer> transfersOf(const WeightLayout& layout) {
  std::vector<WeightTransfer> transfers;
  for (const ParameterPlace& place : layout.parameters) {
    if (place.mapped) continue;
    if (place.pieces.empty()) appendParts(transfers, place);
    for (const PiecePlace& piece : place.pieces) appendPiece(transfers, piece);
  }
  return transfers;
}

uint64_t bytesOf(const std::vector<WeightTransfer>& transfers) {
  uint64_t bytes = 0;
  for (const WeightTransfer& transfer : transfers) bytes += transfer.tensor->bytes;
  return bytes;
}

std::vector<WeightChunk> chunksOf(const std::vector<WeightTransfer>& transfers, size_t sliceBytes, void* arena) {
  std::vector<WeightChunk> chunks;
  for (const WeightTransfer& transfer : transfers) {
    const StoredTensor& tensor = *transfer.tensor;
    char* const target = static_cast<char*>(arena) + transfer.offset;
    const size_t step = transfer.chunkBytes(sliceBytes);
    for (uint64_t done = 0; done < tensor.bytes; done += step) {
      const auto bytes = static_cast<size_t>(std::min<uint64_t>(tensor.bytes - done, step));
      WeightChunk& chunk = chunks.emplace_back();
      chunk.file = tensor.file;
      chunk.offset = tensor.offset + done;
      chunk.bytes = bytes;
      chunk.fileType = tensor.dtype;
      chunk.targetType = transfer.targetType;
      chunk.target = target + done / dtypeBytes(tensor.dtype) * dtypeBytes(transfer.targetType);
      if (!transfer.repack) continue;
      const auto row = static_cast<uint64_t>(transfer.repack->columns * transfer.repack->width);
      chunk.target = target;
      chunk.repack = transfer.repack;
      chunk.repack->to = target;
      chunk.repack->firstRow = static_cast<int64_t>(done / row);
      chunk.repack->rows = static_cast<int64_t>(bytes / row);
    }
  }
  std::sort(chunks.begin(), chunks.end(), [](const WeightChunk& left, const WeightChunk& right) {
    return std::tie(left.file, left.offset, left.target) < std::tie(right.file, right.offset, right.target);
  });
  return chunks;
}

RingShape ringOf(const std::vector<WeightTransfer>& transfers, bool sharesHostMemory, size_t ringLimit) {
  const size_t sliceBytes = RingShape::sliceBytes(bytesOf(transfers), ringLimit);
  size_t largest = 0;
  bool converts = false;
  for (const WeightTransfer& transfer : transfers) {
    if (sharesHostMemory && !transfer.changes()) continue;
    largest = std::max(largest, transfer.chunkBytes(sliceBytes));
    converts |= transfer.changes();
  }
  return RingShape::of(largest, converts, ringLimit);
}

}  // namespace octavo
