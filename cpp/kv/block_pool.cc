#include "kv/block_pool.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "kv/pool_tags.h"

namespace octavo {

namespace {

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

BlockPool::BlockPool(Ledger& ledger, PageRange& pages, int64_t blocks, size_t blockBytes)
    : ledger_(ledger),
      total_(checkedCount(blocks, blockBytes)),
      capacity_(total_),
      pages_(pages, total_, blockBytes),
      placement_(pages_),
      blocks_(static_cast<size_t>(total_)) {
  inFlight_.reserve(static_cast<size_t>(total_));  // nothing is allocated on release
  if (pages_.backedBlocks() == 0) return;
  ledger_.transfer(Region::kKv, kEngine, kPageTag, kEngine, kFreeTag, total_ * blockBytes, 0, total_);
}

BlockPool::~BlockPool() {
  try {
    std::vector<BlockId> held;
    endQuarantine();
    for (BlockId id = 0; id < total_; ++id) {
      if (blocks_[id].state != State::kOwned) continue;
      held.assign(1, id);
      release(blocks_[id].owner, held, 0);
    }
    passFence(std::numeric_limits<uint64_t>::max());
    trim(0);
    if (pages_.elastic()) return;
    ledger_.transfer(Region::kKv, kEngine, kFreeTag, kEngine, kPageTag, total_ * blockBytes(), total_, 0);
  } catch (const std::exception&) {
    // The ledger was broken before: the pages' own release will not balance, and check() says so.
  }
}

bool BlockPool::take(Owner owner, int64_t count, std::vector<BlockId>& out, int64_t expected) {
  if (count < 0) throw Error(ErrorCode::kInternal, "asked for " + std::to_string(count) + " KV blocks");
  const std::lock_guard lock(mutex_);
  if (count > capacity_ - live()) return false;
  if (count == 0) return true;
  int64_t& held = owned_[owner];
  const size_t before = out.size();
  out.reserve(before + static_cast<size_t>(count));
  try {
    if (placeAll(owner, count, std::max(expected, count), out)) {
      ledger_.transfer(Region::kKv, kEngine, kFreeTag, owner, ownedTag(owner), count * blockBytes(), count);
      held += count;
      return true;
    }
  } catch (...) {
    for (size_t index = before; index < out.size(); ++index) setFree(out[index]);
    out.resize(before);
    throw;
  }
  for (size_t index = before; index < out.size(); ++index) setFree(out[index]);
  out.resize(before);
  capacity_ = pages_.backedBlocks();
  return false;
}

/** Marks blocks as the owner's, mapping as it goes; false, with some of them placed, when there is no page left. */
bool BlockPool::placeAll(Owner owner, int64_t count, int64_t expected, std::vector<BlockId>& out) {
  for (int64_t taken = 0; taken < count; ++taken) {
    const BlockId id = place(out.empty() ? -1 : out.back(), expected - taken);
    if (id < 0) return false;
    pages_.occupy(id);
    blocks_[id] = {State::kOwned, owner, 0};
    out.push_back(id);
  }
  usedPeak_ = std::max(usedPeak_, pages_.usedPages());
  return true;
}

BlockId BlockPool::place(BlockId last, int64_t wanted) {
  const BlockPlacement::Choice choice = placement_.next(last, wanted, true);
  if (choice.pageCount == 0 || mapFor(choice)) return choice.block;
  return placement_.next(last, wanted, false).block;
}

/** All pages of the choice, else those of its block alone; false when the device or the limit refuses these too. */
bool BlockPool::mapFor(const BlockPlacement::Choice& choice) {
  const int64_t least = pages_.lastPage(choice.block) + 1 - choice.firstPage;
  for (const int64_t count : {choice.pageCount, least}) {
    try {
      mapPages(choice.firstPage, count);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOutOfMemory) throw;
    }
  }
  return false;
}

/** Those of the pages that are not mapped yet. */
void BlockPool::mapPages(int64_t first, int64_t count) {
  const int64_t end = first + count;
  for (int64_t page = first; page < end; ++page) {
    const PageRuns::Run run = pages_.unmapped().find(page);
    if (run.count == 0) continue;
    const int64_t mapped = std::min(end, run.first + run.count) - page;
    const int64_t backed = pages_.map(page, mapped);
    ledger_.transfer(Region::kKv, kEngine, kPageTag, kEngine, kFreeTag, backed * blockBytes(), 0, backed);
    page += mapped - 1;
  }
}

int64_t BlockPool::trim(int64_t keep) {
  const std::lock_guard lock(mutex_);
  return unmapCached(pages_.cached().pages() - keep);
}

/** Highest pages first. Returns how many were given back. */
int64_t BlockPool::unmapCached(int64_t most) {
  if (!pages_.elastic()) return 0;
  int64_t left = std::min(most, pages_.cached().pages());
  for (int64_t count = 0; left > 0; left -= count) {
    const PageRuns::Run run = pages_.cached().last();
    count = std::min(left, run.count);
    const int64_t first = run.first + run.count - count;
    const int64_t backed = pages_.backedOn(first, count);
    ledger_.transfer(Region::kKv, kEngine, kFreeTag, kEngine, kPageTag, backed * blockBytes(), backed, 0);
    pages_.unmap(first, count);
  }
  return std::max<int64_t>(0, most);
}

void BlockPool::release(Owner owner, const std::vector<BlockId>& blocks, uint64_t fence) {
  if (blocks.empty()) return;
  const std::lock_guard lock(mutex_);
  const bool now = fence <= passed_;
  const auto count = static_cast<int64_t>(blocks.size());
  takeOff(owner, blocks, now ? kFreeTag : kInFlightTag);
  for (const BlockId id : blocks) {
    if (now) {
      setFree(id);
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
      if (!isHeld(id, owner)) {
        fail(id, std::string("cannot be released by ") + ownerKindName(owner.kind) + " " +
                     std::to_string(owner.id));
      }
      blocks_[id].state = State::kInFlight;
      ++moved;
    }
    ledger_.transfer(Region::kKv, owner, ownedTag(owner), kEngine, toTag, blocks.size() * blockBytes(), blocks.size());
  } catch (...) {
    for (size_t index = 0; index < moved; ++index) blocks_[blocks[index]].state = State::kOwned;
    throw;
  }
}

EvictionPlan BlockPool::planEviction(const std::vector<EvictionCandidate>& candidates, int64_t wanted,
                                     EvictionPolicy policy) const {
  const std::lock_guard lock(mutex_);
  return EvictionPlanner(pages_, policy).plan(candidates, wanted);
}

void BlockPool::setFree(BlockId id) {
  blocks_[id].state = State::kFree;
  pages_.vacate(id);
}

void BlockPool::passFence(uint64_t step) {
  const std::lock_guard lock(mutex_);
  passed_ = std::max(passed_, step);
  const auto waiting = std::partition(inFlight_.begin(), inFlight_.end(),
                                      [this](BlockId id) { return blocks_[id].fence > passed_; });
  const auto landed = std::span(waiting, inFlight_.end());
  if (!landed.empty()) {
    land(landed);
    inFlight_.erase(waiting, inFlight_.end());
  }
  trimSlowly();
}

/** In-flight blocks become free; leaves everything as it was when it throws. */
void BlockPool::land(std::span<const BlockId> blocks) {
  size_t moved = 0;
  try {
    for (const BlockId id : blocks) {
      if (blocks_[id].state != State::kInFlight) fail(id, "is on the list of those in flight");
      blocks_[id].state = State::kFree;
      ++moved;
    }
    ledger_.transfer(Region::kKv, kEngine, kInFlightTag, kEngine, kFreeTag, blocks.size() * blockBytes(), blocks.size());
  } catch (...) {
    for (const BlockId id : blocks.first(moved)) blocks_[id].state = State::kInFlight;
    throw;
  }
  for (const BlockId id : blocks) pages_.vacate(id);
}

int64_t BlockPool::capacity() const {
  const std::lock_guard lock(mutex_);
  return capacity_ - quarantined_;
}

void BlockPool::raiseCapacity(size_t freeBytes) {
  const std::lock_guard lock(mutex_);
  const auto more = static_cast<int64_t>(std::min<size_t>(total_, freeBytes / kPageBytes * kPageBytes / blockBytes()));
  capacity_ = std::max(capacity_, std::min(total_, pages_.backedBlocks() + more));
}

int64_t BlockPool::free() const {
  const std::lock_guard lock(mutex_);
  return capacity_ - live();
}

int64_t BlockPool::inFlight() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(inFlight_.size());
}

PoolPages BlockPool::pages() const {
  const std::lock_guard lock(mutex_);
  PoolPages pages;
  pages.mapped = pages_.mappedPages();
  pages.used = pages_.usedPages();
  pages.packed = pages_.pagesFor(live());
  pages.mappedBytes = static_cast<size_t>(pages.mapped) * kPageBytes;
  pages.liveBytes = static_cast<size_t>(live()) * blockBytes();
  pages.stuckBytes = pages_.stuckBytes();
  return pages;
}

}  // namespace octavo
