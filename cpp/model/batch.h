// One step's input: flat tokens of many sequences. Host form (BatchBuilder's) and device form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pool.h"
#include "ops/tensor.h"

namespace octavo {

/** One sequence's share of a step. */
struct BatchSequence {
  std::span<const int32_t> tokens;       // to compute, in order; or sampledAt(row) of the step before
  int32_t start = 0;                     // position of the first of them
  const std::vector<BlockId>* blocks = nullptr;  // covers start + tokens.size() tokens at least
  bool everyLogit = false;               // logits of all its tokens, else of the last only…
  bool noLogit = false;                  // …or of none (a prefill chunk that is not the last)
};

/** Largest values a step may have; sizes the device and pinned buffers. */
struct BatchLimits {
  int32_t maxTokens = 0, maxSequences = 0, maxBlocksPerSequence = 0, maxLogitRows = 0;
  int32_t stepsAtOnce = 1;  // under way together: each has its own place in the pinned buffers
  bool graphs = false;      // decodes of fixed size are recorded: their block tables have a place of their own
};

/** Host arrays of a batch, laid out as they are uploaded. */
struct Batch {
  std::vector<int32_t> tokens;         // [T]
  std::vector<int32_t> positions;      // [T]
  std::vector<int64_t> slots;          // [T]
  std::vector<int32_t> queryStart;     // [S + 1]
  std::vector<int32_t> contextLength;  // [S]
  std::vector<int32_t> blockTable;     // [S, tableStride], unused entries −1
  std::vector<int32_t> logitRows;      // [R] row indices in T whose logits are wanted, in sequence order
  int32_t tableStride = 0, maxQueryLength = 0, maxContextLength = 0;
  bool resolves = false;               // some tokens are sampledAt

  /** Throws kInternal when a limit is passed or a block table is too short. */
  static Batch build(const std::vector<BatchSequence>& sequences, int32_t blockSize, const BatchLimits& limits);
  /** The same in the memory of the batch before: nothing is allocated where that was as large. */
  void rebuild(const std::vector<BatchSequence>& sequences, int32_t blockSize, const BatchLimits& limits);

  /**
   * Decodes alone: as many sequences more as make it `sequences`, without context: they read and write no KV, and what
   * is in their rows means nothing.
   */
  void padTo(int32_t sequences);

 private:
  struct Place;
  void resize(const std::vector<BatchSequence>& sequences, int32_t blockSize, const BatchLimits& limits);
  void fill(const BatchSequence& sequence, int32_t blockSize, Place& place);
};

}  // namespace octavo
