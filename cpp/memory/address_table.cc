#include "memory/address_table.h"

#include <algorithm>
#include <bit>

namespace octavo {

void AddressTable::insert(CachedBlock& block) noexcept {
  place(block);
  ++size_;
}

void AddressTable::place(CachedBlock& block) noexcept {
  size_t slot = homeOf(block.data);
  while (slots_[slot].block) slot = after(slot);
  slots_[slot] = {block.data, &block};
}

CachedBlock* AddressTable::find(const void* data) const noexcept {
  if (slots_.empty()) return nullptr;
  size_t slot = homeOf(data);
  while (slots_[slot].block && slots_[slot].data != data) slot = after(slot);
  return slots_[slot].block;
}

CachedBlock* AddressTable::take(const void* data) noexcept {
  if (slots_.empty()) return nullptr;
  size_t hole = homeOf(data);
  while (slots_[hole].block && slots_[hole].data != data) hole = after(hole);
  CachedBlock* const found = slots_[hole].block;
  if (!found) return nullptr;
  --size_;
  // Whoever probed past the hole moves into it, or it would not be found again.
  for (size_t slot = after(hole); slots_[slot].block; slot = after(slot)) {
    const size_t mask = slots_.size() - 1;
    const size_t distance = (slot - homeOf(slots_[slot].data)) & mask;
    if (distance < ((slot - hole) & mask)) continue;
    slots_[hole] = slots_[slot];
    hole = slot;
  }
  slots_[hole] = {};
  return found;
}

void AddressTable::grow() {
  std::vector<Slot> old(std::max<size_t>(64, slots_.size() * 2));
  old.swap(slots_);
  shift_ = 64 - static_cast<int>(std::bit_width(slots_.size() - 1));
  for (const Slot& slot : old) {
    if (slot.block) place(*slot.block);
  }
}

}  // namespace octavo
