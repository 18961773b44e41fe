// Counters of allocators in PyTorch's vocabulary (torch.cuda.memory_stats), and how they are kept.
#pragma once

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
    if (current > peak) peak = current;  // rare once warm: a branch that is foretold, not a store
  }
  void decrease(uint64_t amount) { current -= amount; }
};

/** One counter of the small and the large pool, and of both together. */
class PoolCounter {
 public:
  void increase(PoolKind kind, uint64_t amount) {
    shares_[shareOf(kind)].increase(amount);
    current_ += amount;  // kept: adding up a share just written and one long there makes the processor wait
    if (current_ > peak_) peak_ = current_;
  }
  void decrease(PoolKind kind, uint64_t amount) {
    shares_[shareOf(kind)].decrease(amount);
    current_ -= amount;
  }
  CounterValue of(PoolKind kind) const {
    if (kind != PoolKind::kAll) return shares_[shareOf(kind)];
    return {current_, peak_, shares_[0].allocated + shares_[1].allocated};
  }
  /** kAll's `allocated` follows from the others. */
  void assign(PoolKind kind, const CounterValue& value) {
    if (kind != PoolKind::kAll) {
      shares_[shareOf(kind)] = value;
    } else {
      current_ = value.current;
      peak_ = value.peak;
    }
  }

 private:
  static size_t shareOf(PoolKind kind) { return kind == PoolKind::kLarge ? 1 : 0; }

  CounterValue shares_[2];  // small, large
  uint64_t current_ = 0, peak_ = 0;
};

struct MemoryStatistics {
  std::array<PoolCounter, kCounters> counters{};
  uint64_t allocRetries = 0;       // the device or the limit refused, memory was given back, and it was asked again
  uint64_t ooms = 0;
  uint64_t syncAllStreams = 0;
  uint64_t deviceAllocs = 0, deviceFrees = 0;  // calls that map and unmap
  CounterValue oversizeAllocations, oversizeSegments;
  size_t maxSplitSize = 0;         // 0: everything may be split
  size_t largestFreeBytes = 0;     // the largest free block

  CounterValue of(Counter counter, PoolKind kind = PoolKind::kAll) const {
    return counters[static_cast<size_t>(counter)].of(kind);
  }
  /** Of the small or the large pool; kAll is the two together. */
  void increase(PoolKind kind, Counter counter, uint64_t amount) {
    counters[static_cast<size_t>(counter)].increase(kind, amount);
  }
  void decrease(PoolKind kind, Counter counter, uint64_t amount) {
    counters[static_cast<size_t>(counter)].decrease(kind, amount);
  }
};

}  // namespace octavo
