// What was given back and still waits for a stream. Private to the caching allocator.
#pragma once

#include "memory/memory_statistics.h"

namespace octavo {

/**
 * Active is allocated and waiting together. As a rule nothing waits, so only that is counted: the active counters
 * are made of it when they are asked for. Their peaks are those of the allocated ones, or noted while something waited.
 */
class WaitingBlocks {
 public:
  bool any() const { return shares_[0].pieces > 0; }
  void begin(PoolKind kind, size_t bytes) { change(kind, 1, bytes); }
  void end(PoolKind kind, size_t bytes) { change(kind, ~uint64_t{0}, ~uint64_t{bytes} + 1); }
  /** After each hand-out while `any()`. */
  void notePeaks(const MemoryStatistics& statistics);
  /** Puts the active counters in. */
  void complete(MemoryStatistics& statistics) const;

 private:
  struct Share { uint64_t pieces = 0, bytes = 0, peakPieces = 0, peakBytes = 0; };

  void change(PoolKind kind, uint64_t pieces, uint64_t bytes) {
    for (const PoolKind changed : {PoolKind::kAll, kind}) {
      Share& share = shares_[static_cast<size_t>(changed)];
      share.pieces += pieces;
      share.bytes += bytes;
    }
  }

  Share shares_[kPoolKinds];
};

}  // namespace octavo
