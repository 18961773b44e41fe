// Address → block of what is handed out. Private to the caching allocator.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/cached_block.h"

namespace octavo {

/** Open addressing, linear probing, at most a quarter full; no tombstones. O(1). */
class AddressTable {
 public:
  /** Makes sure that the next `insert` does not allocate. Throws std::bad_alloc. */
  void reserveOne() {
    if (4 * (size_ + 1) > slots_.size()) grow();
  }
  void insert(CachedBlock& block) noexcept;
  CachedBlock* find(const void* data) const noexcept;
  /** Takes the block out; nullptr when there is none at that address. */
  CachedBlock* take(const void* data) noexcept;
  size_t size() const { return size_; }
  template <typename Visit>
  void each(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.block) visit(*slot.block);
    }
  }

 private:
  struct Slot {
    const void* data = nullptr;
    CachedBlock* block = nullptr;
  };
  size_t homeOf(const void* data) const noexcept {
    return static_cast<size_t>((reinterpret_cast<uintptr_t>(data) >> 9) * 0x9e3779b97f4a7c15 >> shift_);
  }
  size_t after(size_t slot) const noexcept { return (slot + 1) & (slots_.size() - 1); }
  void grow();
  void place(CachedBlock& block) noexcept;

  std::vector<Slot> slots_;
  int shift_ = 64;
  size_t size_ = 0;
};

}  // namespace octavo
