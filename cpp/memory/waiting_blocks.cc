#include "memory/waiting_blocks.h"

#include <algorithm>

namespace octavo {

void WaitingBlocks::notePeaks(const MemoryStatistics& statistics) {
  for (size_t kind = 0; kind < kPoolKinds; ++kind) {
    Share& share = shares_[kind];
    const auto allocated = [&](Counter counter) { return statistics.of(counter, static_cast<PoolKind>(kind)).current; };
    share.peakPieces = std::max(share.peakPieces, allocated(Counter::kAllocation) + share.pieces);
    share.peakBytes = std::max(share.peakBytes, allocated(Counter::kAllocatedBytes) + share.bytes);
  }
}

void WaitingBlocks::complete(MemoryStatistics& statistics) const {
  const auto active = [&](Counter counter, PoolKind kind, uint64_t waiting, uint64_t peak) {
    CounterValue value = statistics.of(counter, kind);
    value.current += waiting;
    value.peak = std::max(value.peak, peak);
    return value;
  };
  PoolCounter pieces, bytes;
  for (const PoolKind kind : {PoolKind::kSmall, PoolKind::kLarge, PoolKind::kAll}) {
    const Share& share = shares_[static_cast<size_t>(kind)];
    pieces.assign(kind, active(Counter::kAllocation, kind, share.pieces, share.peakPieces));
    bytes.assign(kind, active(Counter::kAllocatedBytes, kind, share.bytes, share.peakBytes));
  }
  statistics.counters[static_cast<size_t>(Counter::kActive)] = pieces;
  statistics.counters[static_cast<size_t>(Counter::kActiveBytes)] = bytes;
}

}  // namespace octavo
