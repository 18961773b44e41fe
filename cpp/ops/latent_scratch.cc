#include "ops/latent_scratch.h"

#include <algorithm>

namespace octavo {

namespace {

bool hasKernel(const LatentShape& shape) {
  return shape.rank == 512 && shape.width == 576 && (shape.dtype == DType::kBF16 || shape.dtype == DType::kF16);
}

int64_t ceilDivide(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

}  // namespace

LatentScratchLayout::LatentScratchLayout(const LatentShape& shape, int32_t maxSequences, int32_t maxContextLength) {
  if (!hasKernel(shape)) return;
  tiles = static_cast<int32_t>(ceilDivide(int64_t{shape.heads} * kMostQueries, kTileRows));
  slots = static_cast<int32_t>(std::clamp<int64_t>(ceilDivide(maxContextLength, kPartKeys), 16, kMostParts));
  counterBytes = static_cast<size_t>(ceilDivide(int64_t{maxSequences} * tiles * 4, 256) * 256);
  // Of every row: its output in fp32, its maximum and its sum; padded to whole vectors of a warp.
  slotBytes = static_cast<size_t>(kTileRows) * (static_cast<size_t>(shape.rank) + 64) * 4;
  bytes = counterBytes + slotBytes * static_cast<size_t>(slots) * kMultiprocessors;
}

}  // namespace octavo
