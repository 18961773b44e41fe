// Counters by kind, exact at any moment, without a lock.
#pragma once

#include <atomic>

#include "trace/kind.h"

namespace octavo::memtrace {

/** A figure that goes up and down and remembers its highest value. */
class Level {
 public:
  void add(uint64_t amount) {
    const uint64_t value = value_.fetch_add(amount, std::memory_order_relaxed) + amount;
    uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (value > peak && !peak_.compare_exchange_weak(peak, value, std::memory_order_relaxed)) {
    }
  }
  void subtract(uint64_t amount) { value_.fetch_sub(amount, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
  std::atomic<uint64_t> peak_{0};
};

struct KindStatistics {
  std::atomic<uint64_t> allocations{0};
  std::atomic<uint64_t> frees{0};
  /** Ended with their context, without a free of their own. */
  std::atomic<uint64_t> endedWithContext{0};
  std::atomic<uint64_t> endedWithContextBytes{0};
  /** All bytes ever allocated. */
  std::atomic<uint64_t> totalBytes{0};
  Level bytes;
  Level count;
};

struct Statistics {
  KindStatistics kinds[kKinds];
  Level deviceBytes;
  /** Calls to trim a pool. */
  std::atomic<uint64_t> trims{0};
  /** Frees that the driver took and for which no allocation is known. */
  std::atomic<uint64_t> unknownFrees{0};
  /** The same, refused by the driver: double frees among them. */
  std::atomic<uint64_t> refusedFrees{0};
  /** Allocations at an address that was believed to live: their free took a way that is not traced. */
  std::atomic<uint64_t> replaced{0};
  /** Events that the tracer had no memory for. */
  std::atomic<uint64_t> lost{0};

  KindStatistics& of(Kind kind) { return kinds[static_cast<size_t>(kind)]; }
  const KindStatistics& of(Kind kind) const { return kinds[static_cast<size_t>(kind)]; }

  void began(Kind kind, uint64_t bytes);
  void ended(Kind kind, uint64_t bytes);
  void endedWithItsContext(Kind kind, uint64_t bytes);
};

}  // namespace octavo::memtrace
