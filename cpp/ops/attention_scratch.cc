#include "ops/attention_scratch.h"

#include <algorithm>

namespace octavo {

namespace {

constexpr int64_t kSliceKeys = 16;
constexpr int64_t kVectorBytes = 16;

int64_t ceilDivide(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

bool hasKernel(const AttentionShape& shape) {
  const int32_t dim = shape.headDim;
  const bool made = dim == 64 || dim == 80 || dim == 96 || dim == 128 || dim == 192 || dim == 256;
  return made && (shape.dtype == DType::kBF16 || shape.dtype == DType::kF16);
}

/** As few items as the kernel's columns allow, of equal size. */
int32_t shareOf(int32_t group, int32_t dim) {
  const int32_t most = group > 8 && (dim == 64 || dim == 128) ? 16 : 8;
  return static_cast<int32_t>(ceilDivide(group, ceilDivide(group, most)));
}

/** A running softmax and an output of fp32, of the lanes that hold query heads. */
int64_t vectorsOf(int32_t share, int32_t dim) {
  const int64_t tiles = ceilDivide(share, AttentionScratchLayout::kTileRows);
  const int64_t lanes = share >= AttentionScratchLayout::kTileRows ? 32 : (share + 1) / 2 * 8;
  return (dim / 16 * tiles + tiles) * lanes;
}

/** The most parts of any context up to a length: short ones have up to 16, parts of 16 slices up to kMostParts. */
int32_t partsOf(int32_t maxContextLength) {
  const int64_t parts = ceilDivide(ceilDivide(maxContextLength, kSliceKeys), 16);
  return static_cast<int32_t>(std::clamp<int64_t>(parts, 16, AttentionScratchLayout::kMostParts));
}

}  // namespace

AttentionScratchLayout::AttentionScratchLayout(const AttentionShape& shape, int32_t maxSequences,
                                               int32_t maxContextLength) {
  if (!hasKernel(shape)) return;
  const int32_t group = shape.heads / shape.kvHeads;
  headShare = shareOf(group, shape.headDim);
  shares = static_cast<int32_t>(ceilDivide(group, headShare));
  workers = kMultiprocessors * warps(shape.headDim);
  slots = partsOf(maxContextLength);
  counterBytes = static_cast<size_t>(ceilDivide(int64_t{maxSequences} * shape.kvHeads * shares * 4, 256) * 256);
  slotBytes = static_cast<size_t>(vectorsOf(headShare, shape.headDim) * kVectorBytes);
  bytes = kItemBytes + counterBytes + slotBytes * static_cast<size_t>(workers) * static_cast<size_t>(slots);
}

}  // namespace octavo
