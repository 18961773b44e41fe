// Unwind rows by return address. Reading takes no lock: an entry is its row, and its row combined with its address, so
// that one half written by another thread is seen as a miss.
#pragma once

#include <atomic>
#include <cstddef>

#include "stack/unwind_row.h"

namespace octavo::memtrace {

class RowCache {
 public:
  /** False on a miss. */
  bool find(uint64_t address, uint64_t* row) const {
    const Entry& entry = entries_[placeOf(address)];
    *row = entry.row.load(std::memory_order_relaxed);
    return (entry.mixed.load(std::memory_order_relaxed) ^ *row) == address;
  }

  void put(uint64_t address, uint64_t row) {
    Entry& entry = entries_[placeOf(address)];
    entry.row.store(row, std::memory_order_relaxed);
    entry.mixed.store(row ^ address, std::memory_order_relaxed);
  }

  /** Code may have been unmapped, and other code may take its place. */
  void clear() {
    for (auto& entry : entries_) {
      entry.row.store(0, std::memory_order_relaxed);
      entry.mixed.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr size_t kEntries = 16384;
  struct Entry {
    std::atomic<uint64_t> mixed{0};
    std::atomic<uint64_t> row{0};
  };
  static size_t placeOf(uint64_t address) { return address * 0x9e3779b97f4a7c15u >> 50; }

  Entry entries_[kEntries];
};

}  // namespace octavo::memtrace
