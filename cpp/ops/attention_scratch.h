// The memory by which blocks that share a sequence's keys bring their parts together (CUDA; the CPU needs none).
// It is planned before a device is there: so its size depends on the model and the limits alone.
#pragma once

#include "ops/tensor.h"

namespace octavo {

/** Sequences with at most so many query tokens are decodes: their keys are dealt to the whole card. */
constexpr int32_t kMostDecodeTokens = 8;

/**
 * The counter by which prefill deals its items (kItemBytes); then, for decodes, a ticket, counters, and slots for
 * pieces of items. Query heads of one KV head are worked on `headShare` at a time; `fewHeadShare` where a sequence has
 * several query tokens. Offsets are from the start of all.
 */
struct AttentionScratchLayout {
  int32_t headShare = 0, shares = 0;        // query heads in one item, items a KV head
  int32_t fewHeadShare = 0, fewShares = 0;
  int32_t capacity = 0, fewCapacity = 0;    // slots, besides two a multiprocessor
  size_t groupCounters = 0;                 // where those of groups start, in bytes
  size_t counterBytes = 0;
  size_t bytes = 0;                         // 0: no kernel that uses scratch is made for this shape

  /** Of `shape` and the limits of AttentionScratch. */
  AttentionScratchLayout(const AttentionShape& shape, int32_t maxSequences, int32_t maxContextLength);

  /** Multiprocessors that work at most. */
  static constexpr int32_t kMultiprocessors = 144;
  /** Keys in a slice, and chunks that are folded first. */
  static constexpr int32_t kSliceKeys = 16, kQuadChunks = 4;
  /** Query rows in the columns of a product: tiles of 8, one, two or four of them. */
  static constexpr int32_t kTileRows = 8;
  static constexpr int32_t tilesFor(int32_t rows) { return rows > 2 * kTileRows ? 4 : rows > kTileRows ? 2 : 1; }
  /** Warps of a multiprocessor that finish what the others have added up. */
  static constexpr int32_t kFinishers = 2;
  /** At the start whatever the shape, so that layers of several shapes may share a scratch. */
  static constexpr size_t kItemBytes = 256, kTicketBytes = 256;
};

}  // namespace octavo
