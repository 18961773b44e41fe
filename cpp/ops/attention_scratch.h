// The memory by which warps that share a sequence's keys bring their parts together (CUDA; the CPU needs none).
// It is planned before a device is there: so its size depends on the model and the limits alone.
#pragma once

#include "ops/tensor.h"

namespace octavo {

/**
 * The counter by which prefill deals its items (kItemBytes), then, for decodes, counters and slots. Query heads of one
 * KV head are worked on `headShare` at a time; a worker is a warp, and has a slot for each part that a context may be
 * cut into.
 */
struct AttentionScratchLayout {
  int32_t headShare = 0, shares = 0;  // query heads in one item, items a KV head
  int32_t workers = 0, slots = 0;     // slots a worker
  size_t counterBytes = 0, slotBytes = 0;
  size_t bytes = 0;                   // 0: no kernel that uses scratch is made for this shape

  /** Of `shape` and the limits of AttentionScratch. */
  AttentionScratchLayout(const AttentionShape& shape, int32_t maxSequences, int32_t maxContextLength);

  /** At the start whatever the shape, so that layers of several shapes may share a scratch. */
  static constexpr size_t kItemBytes = 256;
  /** Warps of a multiprocessor, and multiprocessors, that work at most. */
  static constexpr int32_t warps(int32_t headDim) { return headDim <= 64 ? 8 : 4; }
  static constexpr int32_t kMultiprocessors = 144;
  /** Parts a context is cut into at most. */
  static constexpr int32_t kMostParts = 64;
  /** Query heads in the columns of a product: one tile of 8, or two. */
  static constexpr int32_t kTileRows = 8;
};

}  // namespace octavo
