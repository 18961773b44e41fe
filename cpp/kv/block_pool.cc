#include "kv/block_pool.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};
const std::string kFreeTag = "kv.free";
const std::string kOwnedTag = "kv.blocks";
const std::string kInFlightTag = "kv.inFlight";

int64_t checkedCount(int64_t blocks, size_t blockBytes) {
  const auto most = std::numeric_limits<BlockId>::max();
  if (blocks >= 1 && blocks <= most && blockBytes >= 1 &&
      blockBytes <= std::numeric_limits<size_t>::max() / static_cast<size_t>(blocks)) {
    return blocks;
  }
  throw Error(ErrorCode::kInvalidArgument, "a KV pool of " + std::to_string(blocks) + " blocks of " +
                                               std::to_string(blockBytes) + " bytes; allowed are 1 to " +
                                               std::to_string(most) + " blocks of at least 1 byte");
}

}  // namespace

BlockPool::BlockPool(Ledger& ledger, int64_t blocks, size_t blockBytes, const std::string& kvTag)
    : ledger_(ledger), total_(checkedCount(blocks, blockBytes)), blockBytes_(blockBytes), kvTag_(kvTag) {
  blocks_.resize(static_cast<size_t>(total_));
  free_.resize(static_cast<size_t>(total_));
  inFlight_.reserve(static_cast<size_t>(total_));  // nothing is allocated on release
  std::iota(free_.begin(), free_.end(), 0);        // ascending is a heap already
  ledger_.transfer(Region::kKv, kEngine, kvTag_, kEngine, kFreeTag, total_ * blockBytes_, 1, total_);
}

BlockPool::~BlockPool() {
  try {
    std::vector<BlockId> held;
    for (BlockId id = 0; id < total_; ++id) {
      if (blocks_[id].state != State::kOwned) continue;
      held.assign(1, id);
      release(blocks_[id].owner, held, 0);
    }
    passFence(std::numeric_limits<uint64_t>::max());
    ledger_.transfer(Region::kKv, kEngine, kFreeTag, kEngine, kvTag_, total_ * blockBytes_, total_, 1);
  } catch (const std::exception&) {
    // The ledger was broken before: the allocation's own release will not balance, and check() says so.
  }
}

bool BlockPool::take(Owner owner, int64_t count, std::vector<BlockId>& out) {
  if (count < 0) throw Error(ErrorCode::kInternal, "asked for " + std::to_string(count) + " KV blocks");
  const std::lock_guard lock(mutex_);
  if (count > static_cast<int64_t>(free_.size())) return false;
  if (count == 0) return true;
  int64_t& held = owned_[owner];
  out.reserve(out.size() + static_cast<size_t>(count));
  ledger_.transfer(Region::kKv, kEngine, kFreeTag, owner, kOwnedTag, count * blockBytes_, count);
  for (int64_t taken = 0; taken < count; ++taken) {
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    const BlockId id = free_.back();
    free_.pop_back();
    blocks_[id] = {State::kOwned, owner, 0};
    out.push_back(id);
  }
  held += count;
  return true;
}

void BlockPool::release(Owner owner, const std::vector<BlockId>& blocks, uint64_t fence) {
  if (blocks.empty()) return;
  const std::lock_guard lock(mutex_);
  const bool now = fence <= passed_;
  const auto count = static_cast<int64_t>(blocks.size());
  takeOff(owner, blocks, now ? kFreeTag : kInFlightTag);
  for (const BlockId id : blocks) {
    if (now) {
      blocks_[id].state = State::kFree;
      free_.push_back(id);
      std::push_heap(free_.begin(), free_.end(), std::greater<>());
    } else {
      blocks_[id].fence = fence;
      inFlight_.push_back(id);
    }
  }
  const auto held = owned_.find(owner);
  if ((held->second -= count) == 0) owned_.erase(held);
}

/** Moves blocks of `owner` out of kOwned, in the ledger too; leaves everything as it was when it throws. */
void BlockPool::takeOff(Owner owner, const std::vector<BlockId>& blocks, const std::string& toTag) {
  size_t moved = 0;
  try {
    for (const BlockId id : blocks) {
      const bool known = id >= 0 && id < total_;
      if (!known || blocks_[id].state != State::kOwned || blocks_[id].owner != owner) {
        fail(id, std::string("cannot be released by ") + ownerKindName(owner.kind) + " " +
                     std::to_string(owner.id));
      }
      blocks_[id].state = State::kInFlight;
      ++moved;
    }
    ledger_.transfer(Region::kKv, owner, kOwnedTag, kEngine, toTag, blocks.size() * blockBytes_, blocks.size());
  } catch (...) {
    for (size_t index = 0; index < moved; ++index) blocks_[blocks[index]].state = State::kOwned;
    throw;
  }
}

void BlockPool::passFence(uint64_t step) {
  const std::lock_guard lock(mutex_);
  passed_ = std::max(passed_, step);
  const auto waiting = std::partition(inFlight_.begin(), inFlight_.end(),
                                      [this](BlockId id) { return blocks_[id].fence > passed_; });
  const int64_t count = inFlight_.end() - waiting;
  if (count == 0) return;
  ledger_.transfer(Region::kKv, kEngine, kInFlightTag, kEngine, kFreeTag, count * blockBytes_, count);
  for (auto passed = waiting; passed != inFlight_.end(); ++passed) {
    blocks_[*passed].state = State::kFree;
    free_.push_back(*passed);
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
  }
  inFlight_.erase(waiting, inFlight_.end());
}

int64_t BlockPool::free() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(free_.size());
}

int64_t BlockPool::inFlight() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(inFlight_.size());
}

int64_t BlockPool::owned() const {
  const std::lock_guard lock(mutex_);
  return total_ - static_cast<int64_t>(free_.size() + inFlight_.size());
}

int64_t BlockPool::ownedBy(Owner owner) const {
  const std::lock_guard lock(mutex_);
  const auto held = owned_.find(owner);
  return held == owned_.end() ? 0 : held->second;
}

}  // namespace octavo
