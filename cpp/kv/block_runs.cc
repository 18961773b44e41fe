#include "kv/block_pool.h"
#include "kv/pool_tags.h"

namespace octavo {

std::vector<BlockPool::Run> BlockPool::runs() const {
  const std::lock_guard lock(mutex_);
  std::vector<Run> runs;
  for (BlockId id = 0; id < total_; ++id) {
    const Block& block = blocks_[id];
    const bool isFree = block.state == State::kFree;
    const Owner owner = isFree ? Owner{} : block.owner;
    const char* const owned = owner == kEngine ? "cached" : "owned";
    const char* const state = isFree ? "free" : block.state == State::kOwned ? owned : "inFlight";
    const bool continues = !runs.empty() && runs.back().state == state && runs.back().owner == owner;
    if (!continues) runs.push_back({id, 0, state, owner});
    ++runs.back().blocks;
  }
  return runs;
}

std::vector<PageRuns::Run> BlockPool::mappedRuns() const {
  const std::lock_guard lock(mutex_);
  std::vector<PageRuns::Run> runs;
  int64_t at = 0;
  for (const auto& [first, count] : pages_.unmapped().all()) {
    if (first > at) runs.push_back({at, first - at});
    at = first + count;
  }
  if (at < pages_.pages()) runs.push_back({at, pages_.pages() - at});
  return runs;
}

}  // namespace octavo
