// Whose the blocks of a pool are.
#include "base/error.h"
#include "kv/block_pool.h"
#include "kv/pool_tags.h"

namespace octavo {

int64_t BlockPool::owned() const {
  const std::lock_guard lock(mutex_);
  return live() - static_cast<int64_t>(inFlight_.size()) - quarantined_;
}

int64_t BlockPool::ownedBy(Owner owner) const {
  const std::lock_guard lock(mutex_);
  const auto held = owned_.find(owner);
  return held == owned_.end() ? 0 : held->second;
}

bool BlockPool::isHeld(BlockId id, Owner owner) const {
  return id >= 0 && id < total_ && blocks_[id].state == State::kOwned && blocks_[id].owner == owner;
}

bool BlockPool::isOwnedBy(BlockId block, Owner owner) const {
  const std::lock_guard lock(mutex_);
  return isHeld(block, owner);
}

void BlockPool::transfer(Owner from, Owner to, const std::vector<BlockId>& blocks) {
  if (blocks.empty() || from == to) return;
  const std::lock_guard lock(mutex_);
  int64_t& gains = owned_[to];
  size_t moved = 0;
  try {
    for (const BlockId id : blocks) {
      if (!isHeld(id, from)) {
        fail(id, std::string("cannot pass from ") + ownerKindName(from.kind) + " " + std::to_string(from.id));
      }
      blocks_[id].owner = to;
      ++moved;
    }
    ledger_.transfer(Region::kKv, from, ownedTag(from), to, ownedTag(to), blocks.size() * blockBytes(), blocks.size());
  } catch (...) {
    for (size_t index = 0; index < moved; ++index) blocks_[blocks[index]].owner = from;
    throw;
  }
  gains += static_cast<int64_t>(blocks.size());
  const auto held = owned_.find(from);
  if ((held->second -= static_cast<int64_t>(blocks.size())) == 0) owned_.erase(held);
}

}  // namespace octavo
