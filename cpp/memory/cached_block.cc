#include "memory/cached_block.h"

namespace octavo {

CachedBlock& BlockStore::take(char* data, size_t bytes, Segment& segment) {
  CachedBlock& block = *spare_.back();
  spare_.pop_back();
  block.data = data;
  block.bytes = bytes;
  block.segment = &segment;
  const uint64_t spread = (reinterpret_cast<uintptr_t>(data) >> 9) * 0x9e3779b97f4a7c15;
  block.priority = static_cast<uint32_t>(spread >> 32);
  return block;
}

void BlockStore::recycle(CachedBlock& block) noexcept {
  block.state = BlockState::kUnmapped;
  block.previous = block.next = block.left = block.right = nullptr;
  block.requestedBytes = 0;
  block.usedBy.clear();
  block.freedOn = nullptr;
  block.pendingEvents = 0;
  spare_.push_back(&block);
}

void BlockStore::addSlab() {
  spare_.reserve((slabs_.size() + 1) * kSlab);
  slabs_.push_back(std::make_unique<CachedBlock[]>(kSlab));
  for (size_t index = kSlab; index-- > 0;) spare_.push_back(&slabs_.back()[index]);
}

}  // namespace octavo
