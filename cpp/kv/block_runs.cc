#include "kv/block_pool.h"
#include "kv/pool_tags.h"

namespace octavo {

namespace {

const char* stateName(BlockPool::State state, const Owner& owner) {
  switch (state) {
    case BlockPool::State::kFree: return "free";
    case BlockPool::State::kOwned: return owner == kEngine ? "cached" : "owned";
    case BlockPool::State::kInFlight: return "inFlight";
    case BlockPool::State::kQuarantined: return "quarantine";
  }
  return "free";
}

}  // namespace

std::vector<BlockPool::Run> BlockPool::runs() const {
  const std::lock_guard lock(mutex_);
  std::vector<Run> runs;
  for (BlockId id = 0; id < total_; ++id) {
    const Block& block = blocks_[id];
    const bool isFree = block.state == State::kFree;
    const Owner owner = isFree ? Owner{} : block.owner;
    const char* const state = stateName(block.state, owner);
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
