// The memory by which multiprocessors that share a sequence's latents bring their parts together (CUDA; the CPU needs
// none). It is planned before a device is there: so its size depends on the model and the limits alone.
#pragma once

#include <cstddef>

#include "ops/latent.h"

namespace octavo {

/** What the latent attention of a model has in common over its layers. */
struct LatentShape {
  DType dtype = DType::kF32;  // of the cache
  int32_t heads = 0, rank = 0, width = 0;
};

/**
 * Counters, then slots. Rows (a query token and a head) are worked on some at a time; a worker is a multiprocessor, and
 * has a slot for each part that a context may be cut into. Two kernels share the place: for few rows of a sequence, and
 * for many ("wide").
 */
struct LatentScratchLayout {
  int32_t tiles = 0;                 // of rows, a sequence has at most
  int32_t slots = 0, wideSlots = 0;  // a worker
  size_t counterBytes = 0, slotBytes = 0, wideSlotBytes = 0;
  size_t bytes = 0;  // 0: no kernel that uses scratch is made for this shape

  /** Of `shape` and the limits of AttentionScratch. */
  LatentScratchLayout(const LatentShape& shape, int32_t maxSequences, int32_t maxContextLength);

  static constexpr int32_t kTileRows = 16, kWideRows = 64;
  /** Parts of a tile's output, each of which has a counter. */
  static constexpr int32_t kSlices = 8;
  /** Of one sequence, that the wide kernel takes. */
  static constexpr int32_t kFewestWideRows = 49;
  /** Query tokens of a sequence that decodes: one, and those that speculation adds. */
  static constexpr int32_t kMostQueries = 8;
  static constexpr int32_t kMultiprocessors = 144;
  /** Parts a context is cut into at most, whatever its length; short ones have no more than kFewParts. */
  static constexpr int32_t kMostParts = 64, kMostWideParts = 16, kFewParts = 8;
  static constexpr int32_t kPartKeys = 512, kWidePartKeys = 512;
};

}  // namespace octavo
