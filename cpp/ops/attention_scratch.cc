#include "ops/attention_scratch.h"

#include <algorithm>

namespace octavo {

namespace {

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMostPieceBytes = 24 << 20;
constexpr int64_t kOwnSlots = 2 * AttentionScratchLayout::kMultiprocessors;
/** At least so many of several tokens: the quads of one context of 131072 keys and 8 KV heads, and some. */
constexpr int64_t kFewSlots = 4 * AttentionScratchLayout::kMultiprocessors;

int64_t ceilDivide(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

size_t aligned(int64_t bytes) { return static_cast<size_t>(ceilDivide(bytes, 256) * 256); }

bool hasKernel(const AttentionShape& shape) {
  const int32_t dim = shape.headDim;
  const bool forCodes = dim == 64 || dim == 128 || dim == 256;
  const bool forFloats = forCodes || dim == 80 || dim == 96 || dim == 192;
  return isCode(shape.dtype) ? forCodes : forFloats && dtypeBytes(shape.dtype) == 2;
}

/** As few items as the kernel's columns allow, of equal size. */
int32_t shareOf(int32_t group, int32_t dim) {
  const int32_t most = group > 8 && (dim == 64 || dim == 128) ? 16 : 8;
  return static_cast<int32_t>(ceilDivide(group, ceilDivide(group, most)));
}

/** Of them when a sequence has kMostDecodeTokens tokens: 32 rows in the columns, or one tile of 8. */
int32_t fewShareOf(int32_t group, int32_t dim) {
  const int32_t most = dim == 64 || dim == 128 ? 4 : 1;
  return static_cast<int32_t>(ceilDivide(group, ceilDivide(group, most)));
}

/** A running softmax and an output of fp32, of the lanes that hold query rows; finishers have their dims each. */
int64_t slotBytesOf(int32_t rows, int32_t dim) {
  const int64_t tiles = AttentionScratchLayout::tilesFor(rows);
  const int64_t lanes = rows >= AttentionScratchLayout::kTileRows ? 32 : (rows + 1) / 2 * 8;
  constexpr int64_t finishers = AttentionScratchLayout::kFinishers;
  return finishers * (1 + ceilDivide(dim / 16, finishers)) * tiles * lanes * kVectorBytes;
}

/** The most chunks of any context up to a length: short ones have up to 16, long ones chunks of 512 keys, up to 256. */
int64_t chunksOf(int32_t maxContextLength) {
  const int64_t slices = ceilDivide(maxContextLength, AttentionScratchLayout::kSliceKeys);
  return std::max(std::min<int64_t>(ceilDivide(slices, 8), 16), std::min<int64_t>(ceilDivide(slices, 32), 256));
}

}  // namespace

AttentionScratchLayout::AttentionScratchLayout(const AttentionShape& shape, int32_t maxSequences,
                                               int32_t maxContextLength) {
  if (!hasKernel(shape)) return;
  const int32_t group = shape.heads / shape.kvHeads;
  headShare = shareOf(group, shape.headDim);
  shares = static_cast<int32_t>(ceilDivide(group, headShare));
  fewHeadShare = fewShareOf(group, shape.headDim);
  fewShares = static_cast<int32_t>(ceilDivide(group, fewHeadShare));
  const int64_t items = int64_t{maxSequences} * shape.kvHeads * std::max(shares, fewShares);
  const int64_t slotBytes = slotBytesOf(headShare, shape.headDim);
  const int64_t fewSlotBytes = slotBytesOf(fewHeadShare * kMostDecodeTokens, shape.headDim);
  const int64_t chunks = int64_t{maxSequences} * shape.kvHeads * chunksOf(maxContextLength);
  const int64_t slots = std::min(chunks * shares, kMostPieceBytes / slotBytes) + kOwnSlots;
  const int64_t fewSlots = std::min(chunks * fewShares, kFewSlots) + kOwnSlots;
  const int64_t pieceBytes = std::max(slots * slotBytes, fewSlots * fewSlotBytes);
  capacity = static_cast<int32_t>(slots - kOwnSlots);
  fewCapacity = static_cast<int32_t>(pieceBytes / fewSlotBytes - kOwnSlots);
  groupCounters = kItemBytes + kTicketBytes + aligned(items * kFinishers * 4);
  counterBytes = groupCounters + aligned(int64_t{std::max(capacity, fewCapacity)} * kFinishers * 4);
  bytes = counterBytes + static_cast<size_t>(pieceBytes);
}

}  // namespace octavo
