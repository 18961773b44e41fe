// Counters of allocators in PyTorch's vocabulary (torch.cuda.memory_stats), and how they are kept.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace octavo {

/** What is counted. *Allocated*: with callers. *Active*: that, and what still waits for a stream. *Reserved*: obtained
 * from the device. *Inactive split*: free, but on pages that also hold live bytes, so it cannot be returned. */
enum class Counter : uint8_t {
  kAllocation,          // pieces with callers
  kSegment,             // pieces obtained from the device: pages of 2 MiB
  kActive,
  kInactiveSplit,
  kAllocatedBytes,
  kReservedBytes,
  kActiveBytes,
  kInactiveSplitBytes,
  kRequestedBytes,      // before rounding
};
constexpr size_t kCounters = 9;
const char* counterName(Counter counter);  // "allocation" "segment" … "requested_bytes"

enum class PoolKind : uint8_t { kAll, kSmall, kLarge };
constexpr size_t kPoolKinds = 3;
constexpr size_t kSmallBytes = size_t{1} << 20;  // pieces up to this are small: half a page
constexpr PoolKind poolKindOf(size_t bytes) { return bytes <= kSmallBytes ? PoolKind::kSmall : PoolKind::kLarge; }
const char* poolKindName(PoolKind kind);  // "all" "small_pool" "large_pool"

struct CounterValue {
  uint64_t current = 0;
  uint64_t peak = 0;
  uint64_t allocated = 0;  // all that was ever added
  uint64_t freed() const { return allocated - current; }
  void increase(uint64_t amount) {
    current += amount;
    allocated += amount;
    peak = std::max(peak, current);
  }
  void decrease(uint64_t amount) { current -= amount; }
};

struct MemoryStatistics {
  std::array<std::array<CounterValue, kCounters>, kPoolKinds> values{};  // [pool][counter]
  uint64_t allocRetries = 0;       // the device or the limit refused, memory was given back, and it was asked again
  uint64_t ooms = 0;
  uint64_t syncAllStreams = 0;
  uint64_t deviceAllocs = 0, deviceFrees = 0;  // calls that map and unmap
  CounterValue oversizeAllocations, oversizeSegments;
  size_t maxSplitSize = 0;         // 0: everything may be split
  size_t largestFreeBytes = 0;     // the largest free block

  const CounterValue& of(Counter counter, PoolKind kind = PoolKind::kAll) const {
    return values[static_cast<size_t>(kind)][static_cast<size_t>(counter)];
  }
  void increase(PoolKind kind, Counter counter, uint64_t amount) {
    values[0][static_cast<size_t>(counter)].increase(amount);
    values[static_cast<size_t>(kind)][static_cast<size_t>(counter)].increase(amount);
  }
  void decrease(PoolKind kind, Counter counter, uint64_t amount) {
    values[0][static_cast<size_t>(counter)].decrease(amount);
    values[static_cast<size_t>(kind)][static_cast<size_t>(counter)].decrease(amount);
  }
};

}  // namespace octavo
