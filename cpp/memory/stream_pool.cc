#include "memory/stream_pool.h"

#include <algorithm>

namespace octavo {

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
