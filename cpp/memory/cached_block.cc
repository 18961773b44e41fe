#include "memory/cached_block.h"

namespace octavo {

StreamUse& BlockStore::useOf(CachedBlock& block) {
  const auto address = reinterpret_cast<uintptr_t>(&block);
  auto* const slab = reinterpret_cast<Slab*>(address / alignof(Slab) * alignof(Slab));
  return slab->uses[&block - slab->blocks];
}

void BlockStore::forgetUse(CachedBlock& block) noexcept {
  StreamUse& use = useOf(block);
  use.usedBy.clear();
  use.freedOn = nullptr;
  use.pendingEvents = 0;
  block.isShared = false;
}

void BlockStore::addSlab() {
  spare_.reserve((slabs_.size() + 1) * kSlab);
  slabs_.push_back(std::make_unique<Slab>());
  for (size_t index = kSlab; index-- > 0;) spare_.push_back(&slabs_.back()->blocks[index]);
}

}  // namespace octavo
