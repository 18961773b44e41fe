#include "memory/address_table.h"

#include <algorithm>
#include <bit>

namespace octavo {

/** Whoever probed past the hole moves into it, or it would not be found again. */
void AddressTable::closeHole(size_t hole) noexcept {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = after(hole); slots_[slot]; slot = after(slot)) {
    const size_t distance = (slot - homeOf(slots_[slot]->data)) & mask;
    if (distance < ((slot - hole) & mask)) continue;
    slots_[hole] = slots_[slot];
    slots_[slot] = nullptr;
    hole = slot;
  }
}

void AddressTable::grow() {
  std::vector<CachedBlock*> old(std::max<size_t>(64, slots_.size() * 2));
  old.swap(slots_);
  shift_ = 64 - static_cast<int>(std::bit_width(slots_.size() - 1));
  for (CachedBlock* block : old) {
    if (block) place(*block);
  }
}

}  // namespace octavo
