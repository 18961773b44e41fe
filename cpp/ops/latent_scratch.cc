#include "ops/latent_scratch.h"

#include <algorithm>

namespace octavo {

namespace {

bool hasKernel(const LatentShape& shape) {
  return shape.rank == 512 && shape.width == 576 && (shape.dtype == DType::kBF16 || shape.dtype == DType::kF16);
}

int64_t ceilDivide(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

int32_t partsOf(int32_t maxContextLength, int32_t partKeys, int32_t most) {
  const int64_t parts = ceilDivide(maxContextLength, partKeys);
  return static_cast<int32_t>(std::clamp<int64_t>(parts, LatentScratchLayout::kFewParts, most));
}

/** Of every row: its output in fp32, its maximum and its sum; padded to whole vectors of all threads. */
size_t slotBytesOf(int32_t rows, int32_t rank, int32_t padding) {
  return static_cast<size_t>(rows) * static_cast<size_t>(rank + padding) * 4;
}

}  // namespace

LatentScratchLayout::LatentScratchLayout(const LatentShape& shape, int32_t maxSequences, int32_t maxContextLength) {
  if (!hasKernel(shape)) return;
  const int64_t rows = int64_t{shape.heads} * kMostQueries;
  tiles = static_cast<int32_t>(ceilDivide(rows, kTileRows));
  slots = partsOf(maxContextLength, kPartKeys, kMostParts);
  counterBytes = static_cast<size_t>(ceilDivide(int64_t{maxSequences} * tiles * kSlices * 4, 256) * 256);
  slotBytes = slotBytesOf(kTileRows, shape.rank, 64);
  size_t worker = slotBytes * static_cast<size_t>(slots);
  if (rows >= kFewestWideRows) {
    wideSlots = partsOf(maxContextLength, kWidePartKeys, kMostWideParts);
    wideSlotBytes = slotBytesOf(kWideRows, shape.rank, 16);
    worker = std::max(worker, wideSlotBytes * static_cast<size_t>(wideSlots));
  }
  bytes = counterBytes + worker * kMultiprocessors;
}

}  // namespace octavo
