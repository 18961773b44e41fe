#include "model/dummy_weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace octavo {

namespace {

constexpr int64_t kFillBytes = int64_t{8} << 20;      // at once
constexpr uint64_t kReportBytes = uint64_t{64} << 20;

/** Standard deviation of codes that take every value alike; of e4m3, of the numbers that randomE4m3 makes. */
float codeDeviation(CodeType type) {
  if (type == CodeType::kE4M3) return 256 / std::sqrt(3.0f);
  return static_cast<float>(1 << codeBits(type)) / std::sqrt(12.0f);
}

float deviationOf(int64_t columns) { return 1 / std::sqrt(static_cast<float>(columns)); }

/** Numbers of a dense parameter, or of a dense part of one. */
RandomFill denseFill(const std::string& name, const std::vector<int64_t>& shape, DType dtype, void* to) {
  RandomFill fill{RandomKind::kUniform, to, dtype};
  fill.count = 1;
  for (const int64_t extent : shape) fill.count *= extent;
  if (shape.size() == 2) {
    fill.reach = std::sqrt(3.0f) * deviationOf(shape[1]);
  } else if (name.ends_with("Bias")) {
    fill.reach = 0.02f;
  } else {  // of a norm
    fill.middle = 1;
    fill.reach = 0.1f;
  }
  return fill;
}

void appendPiece(std::vector<RandomFill>& fills, const std::string& name, const PiecePlace& piece, char* arena) {
  const WeightPart& part = *piece.part;
  if (!part.quantized) {
    fills.push_back(denseFill(name, part.shape, piece.dtype, arena + piece.data));
    return;
  }
  const QuantizedSource& source = *part.quantized;
  RandomFill codes{source.codeType == CodeType::kE4M3 ? RandomKind::kE4M3 : RandomKind::kBits, arena + piece.data,
                   DType::kU8};
  codes.count = piece.rows * piece.codeStride;
  RandomFill scales{RandomKind::kUniform, arena + piece.scales, source.scales.dtype};
  scales.count = piece.scaleRows() * source.groups();
  scales.middle = deviationOf(source.columns) / codeDeviation(source.codeType);
  scales.reach = scales.middle / 2;
  fills.push_back(codes);
  fills.push_back(scales);
}

void fillZeros(Device& device, const PiecePlace& piece, char* arena, Stream& stream) {
  if (!piece.part->quantized || !piece.part->quantized->zeros) return;
  const QuantizedSource& source = *piece.part->quantized;
  device.fill(arena + piece.zeros, static_cast<uint8_t>(middleCode(source.codeType)),
              static_cast<size_t>(piece.scaleRows() * source.groups()), stream);
}

uint64_t bytesOf(const RandomFill& fill) { return static_cast<uint64_t>(fill.count) * dtypeBytes(fill.dtype); }

}  // namespace

std::vector<RandomFill> dummyFills(const WeightLayout& layout, void* arena, uint64_t seed) {
  std::vector<RandomFill> fills;
  char* const bytes = static_cast<char*>(arena);
  for (const ParameterPlace& place : layout.parameters) {
    if (place.pieces.empty()) fills.push_back(denseFill(place.name, place.shape, place.dtype, bytes + place.offset));
    for (const PiecePlace& piece : place.pieces) appendPiece(fills, place.name, piece, bytes);
  }
  for (size_t index = 0; index < fills.size(); ++index) {
    fills[index].seed = uint64_t{randomWord(seed, 2 * index)} << 32 | randomWord(seed, 2 * index + 1);
  }
  return fills;
}

void fillDummyWeights(Device& device, const WeightLayout& layout, void* arena, uint64_t seed,
                      const std::function<void(LoadProgress)>& progress, const std::atomic<bool>& cancelled) {
  const std::vector<RandomFill> fills = dummyFills(layout, arena, seed);
  LoadProgress done;
  for (const RandomFill& fill : fills) done.totalBytes += bytesOf(fill);
  const auto stream = device.createStream();
  uint64_t reported = 0;
  for (const RandomFill& whole : fills) {
    const auto width = static_cast<int64_t>(dtypeBytes(whole.dtype));
    for (int64_t first = 0; first < whole.count; first += kFillBytes / width) {
      if (cancelled) throw Error(ErrorCode::kCancelled, "loading was cancelled");
      RandomFill fill = whole;
      fill.to = static_cast<char*>(whole.to) + first * width;
      fill.first = first;
      fill.count = std::min(whole.count - first, kFillBytes / width);
      device.ops().fillRandom(fill, *stream);
      done.doneBytes += bytesOf(fill);
      if (done.doneBytes - reported < kReportBytes || done.doneBytes == done.totalBytes) continue;
      stream->synchronize();
      reported = done.doneBytes;
      progress(done);
    }
  }
  for (const ParameterPlace& place : layout.parameters) {
    for (const PiecePlace& piece : place.pieces) fillZeros(device, piece, static_cast<char*>(arena), *stream);
  }
  stream->synchronize();
  progress(done);
}

}  // namespace octavo
