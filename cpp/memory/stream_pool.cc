#include "memory/stream_pool.h"

#include <algorithm>

namespace octavo {

CachedBlock* StreamPool::take(size_t bytes) noexcept {
  CachedBlock* const block = merges() ? free_.takeBestFit(bytes) : free_.takeBestFit(bytes, bytes + bytes / 8);
  if (!block) return nullptr;
  discountStuck(*block);
  return &cutToSize(*block, bytes);
}

void StreamPool::release(CachedBlock& block) noexcept { insertFree(joinFreeNeighbours(block)); }

CachedBlock& StreamPool::cutToSize(CachedBlock& block, size_t bytes) noexcept {
  if (block.bytes > bytes && merges()) insertFree(block.segment->cut(block, bytes, parts_.store));
  return block;
}

CachedBlock& StreamPool::joinFreeNeighbours(CachedBlock& block) noexcept {
  if (!merges()) return block;
  CachedBlock* joined = &block;
  CachedBlock* const below = block.previous;
  if (below && below->state == BlockState::kFree) {
    removeFree(*below);
    block.segment->join(*below, parts_.store);
    joined = below;
  }
  CachedBlock* const above = joined->next;
  if (above && above->state == BlockState::kFree) {
    removeFree(*above);
    joined->segment->join(*joined, parts_.store);
  }
  return *joined;
}

void StreamPool::insertFree(CachedBlock& block) noexcept {
  block.state = BlockState::kFree;
  free_.insert(block);
  countStuck(block);
}

void StreamPool::removeFree(CachedBlock& block) noexcept {
  free_.erase(block);
  discountStuck(block);
}

size_t StreamPool::stuckBytes(const CachedBlock& block) const noexcept {
  const Segment& segment = *block.segment;
  if (segment.isElastic()) return block.bytes - segment.wholePages(block).count * kPageBytes;
  return block.bytes == segment.range().pages() * kPageBytes ? 0 : block.bytes;
}

void StreamPool::countStuck(const CachedBlock& block) noexcept {
  const size_t stuck = stuckBytes(block);
  if (stuck == 0) return;
  parts_.statistics.increase(kind(), Counter::kInactiveSplit, 1);
  parts_.statistics.increase(kind(), Counter::kInactiveSplitBytes, stuck);
}

void StreamPool::discountStuck(const CachedBlock& block) noexcept {
  const size_t stuck = stuckBytes(block);
  if (stuck == 0) return;
  parts_.statistics.decrease(kind(), Counter::kInactiveSplit, 1);
  parts_.statistics.decrease(kind(), Counter::kInactiveSplitBytes, stuck);
}

bool StreamPool::hasFreePages() const {
  for (const auto& segment : segments_) {
    for (const CachedBlock* block = segment->first(); block; block = block->next) {
      if (block->state == BlockState::kFree && stuckBytes(*block) < block->bytes) return true;
    }
  }
  return false;
}

void StreamPool::check() const {
  uint64_t blocks = 0;
  for (const auto& segment : segments_) {
    segment->check();
    for (const CachedBlock* block = segment->first(); block; block = block->next) {
      if (block->state != BlockState::kFree) continue;
      ++blocks;
      const bool merged = !merges() || !block->next || block->next->state != BlockState::kFree;
      if (free_.contains(*block) && merged) continue;
      throw Error(ErrorCode::kInternal, "a free block of " + std::to_string(block->bytes) + " bytes is " +
                                            (merged ? "in no index" : "apart from its free neighbour"));
    }
  }
  if (blocks == free_.count()) return;
  throw Error(ErrorCode::kInternal, "the index counts " + std::to_string(free_.count()) +
                                        " free blocks, the segments " + std::to_string(blocks));
}

}  // namespace octavo
