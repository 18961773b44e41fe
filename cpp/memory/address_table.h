// Address → block of what is handed out. Private to the caching allocator.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/cached_block.h"

namespace octavo {

/** Open addressing, linear probing, at most an eighth full; no tombstones. O(1). */
class AddressTable {
 public:
  /** Makes sure that the next `insert` does not allocate. Throws std::bad_alloc. */
  void reserveOne() {
    if (!hasRoom()) [[unlikely]] grow();
  }
  bool hasRoom() const { return 8 * (size_ + 1) <= slots_.size(); }
  void insert(CachedBlock& block) noexcept {
    place(block);
    ++size_;
  }
  CachedBlock* find(const void* data) const noexcept { return slots_.empty() ? nullptr : slots_[slotOf(data)]; }
  /** Takes the block out; nullptr when there is none at that address. */
  CachedBlock* take(const void* data) noexcept {
    if (slots_.empty()) return nullptr;
    const size_t slot = slotOf(data);
    CachedBlock* const found = slots_[slot];
    if (!found) return nullptr;
    --size_;
    slots_[slot] = nullptr;
    if (slots_[after(slot)]) closeHole(slot);
    return found;
  }
  size_t size() const { return size_; }
  template <typename Visit>
  void each(const Visit& visit) const {
    for (CachedBlock* block : slots_) {
      if (block) visit(*block);
    }
  }

 private:
  size_t homeOf(const void* data) const noexcept {
    return static_cast<size_t>((reinterpret_cast<uintptr_t>(data) >> 9) * 0x9e3779b97f4a7c15 >> shift_);
  }
  size_t after(size_t slot) const noexcept { return (slot + 1) & (slots_.size() - 1); }
  /** Where the address is, or would be. */
  size_t slotOf(const void* data) const noexcept {
    size_t slot = homeOf(data);
    while (slots_[slot] && slots_[slot]->data != data) slot = after(slot);
    return slot;
  }
  void place(CachedBlock& block) noexcept {
    size_t slot = homeOf(block.data);
    while (slots_[slot]) slot = after(slot);
    slots_[slot] = &block;
  }
  void grow();
  void closeHole(size_t hole) noexcept;

  std::vector<CachedBlock*> slots_;
  int shift_ = 64;
  size_t size_ = 0;
};

}  // namespace octavo
