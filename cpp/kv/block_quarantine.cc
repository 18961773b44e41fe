// Blocks that lists disagree about: out of circulation, and still on the ledger.
#include <algorithm>

#include "kv/block_pool.h"
#include "kv/pool_tags.h"

namespace octavo {

std::vector<BlockPool::Record> BlockPool::records() const {
  const std::lock_guard lock(mutex_);
  std::vector<Record> records;
  records.reserve(blocks_.size());
  for (const Block& block : blocks_) records.push_back({block.state, block.owner, 0});
  for (const BlockId id : inFlight_) ++records[static_cast<size_t>(id)].listed;
  return records;
}

int64_t BlockPool::quarantined() const {
  const std::lock_guard lock(mutex_);
  return quarantined_;
}

void BlockPool::quarantine(BlockId id) {
  const std::lock_guard lock(mutex_);
  std::erase(inFlight_, id);
  Block& block = blocks_[id];
  if (block.state == State::kQuarantined) return;
  const bool isFree = block.state == State::kFree;
  if (isFree && !pages_.isBacked(id)) mapPages(pages_.firstPage(id), pages_.lastPage(id) + 1 - pages_.firstPage(id));
  const bool isOwned = block.state == State::kOwned;
  const Owner from = isOwned ? block.owner : kEngine;
  const std::string& tag = isOwned ? ownedTag(from) : isFree ? kFreeTag : kInFlightTag;
  ledger_.transfer(Region::kKv, from, tag, kEngine, kQuarantineTag, blockBytes(), 1);
  if (isOwned && --owned_[from] == 0) owned_.erase(from);
  if (isFree) pages_.occupy(id);
  block.state = State::kQuarantined;
  ++quarantined_;
  capacity_ = std::max(capacity_, live());
}

/** With the pool: what was in quarantine is free, so that its pages go too. */
void BlockPool::endQuarantine() {
  const std::lock_guard lock(mutex_);
  for (BlockId id = 0; id < total_ && quarantined_ > 0; ++id) {
    if (blocks_[id].state != State::kQuarantined) continue;
    ledger_.transfer(Region::kKv, kEngine, kQuarantineTag, kEngine, kFreeTag, blockBytes(), 1);
    setFree(id);
    --quarantined_;
  }
}

void BlockPool::plant(BlockId id, Fault fault) {
  if (fault == Fault::kFreed) {
    release(records()[static_cast<size_t>(id)].owner, {id}, 0);
    return;
  }
  const std::lock_guard lock(mutex_);
  inFlight_.push_back(id);
}

}  // namespace octavo
