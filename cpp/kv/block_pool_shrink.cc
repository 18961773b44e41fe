// How a pool gives pages back: a few now and then when they were not needed lately, and by moving blocks together.
#include <algorithm>

#include "kv/block_pool.h"

namespace octavo {

namespace {

constexpr uint64_t kWindow = 256;        // fences: sessions that end and begin within it reuse pages without a call
constexpr int64_t kLowWaterPages = 8;    // stay mapped for what comes next
constexpr double kStuckShare = 0.025;    // of the used pages' bytes: above it every step moves some blocks
constexpr int64_t kStuckPages = 8;       // and at least so many pages' bytes
constexpr int64_t kMostMoves = 64;       // a step
constexpr size_t kMostMoveBytes = size_t{64} << 20;
constexpr uint64_t kFutileFences = 32;   // until the next try when nothing could be moved
constexpr size_t kSpareHoles = 16;       // looked at beyond those needed, as some lie on pages that must empty
constexpr uint64_t kTrimFences = 64;     // between times that pages are given back,
constexpr int64_t kPagesAtOnce = 16;     // so many: on an H200 35 µs each, but 270 for one alone beside replayed graphs

}  // namespace

void BlockPool::trimSlowly() {
  if (++fences_ % kWindow == 0) {
    usedPeakBefore_ = usedPeak_;
    usedPeak_ = pages_.usedPages();
  }
  if (fences_ % kTrimFences != 0 || passed_ < keptUntil_) return;
  const int64_t keep = std::max(usedPeak_, usedPeakBefore_) + kLowWaterPages;
  unmapCached(std::min(pages_.mappedPages() - keep, kPagesAtOnce));
}

void BlockPool::keepPagesUntil(uint64_t step) {
  const std::lock_guard lock(mutex_);
  keptUntil_ = std::max(keptUntil_, step);
}

std::vector<BlockMove> BlockPool::compactIfStuck() {
  const std::lock_guard lock(mutex_);
  const double used = static_cast<double>(pages_.usedPages()) * kPageBytes;
  const double tolerated = std::max(used * kStuckShare, static_cast<double>(kStuckPages) * kPageBytes);
  if (static_cast<double>(pages_.stuckBytes()) <= tolerated || fences_ < nextCompaction_) return {};
  std::vector<BlockMove> moves = planMoves(mostMovesAStep(), false);
  if (moves.empty()) nextCompaction_ = fences_ + kFutileFences;
  return moves;
}

std::vector<BlockMove> BlockPool::compact() {
  const std::lock_guard lock(mutex_);
  return planMoves(mostMovesAStep(), true);
}

/** At least what empties one page. */
int64_t BlockPool::mostMovesAStep() const {
  const auto within = static_cast<int64_t>(kMostMoveBytes / blockBytes());
  const auto onePage = static_cast<int64_t>(kPageBytes / blockBytes()) + 2;
  return std::max(onePage, std::min(kMostMoves, within));
}

std::vector<BlockMove> BlockPool::planMoves(int64_t most, bool mayMap) {
  if (blockBytes() > kPageBytes) return planLargeMoves(most, mayMap);
  const std::vector<int64_t> partly = pagesByFill();
  std::vector<BlockMove> moves;
  std::vector<BlockId> holes, leaving;
  size_t filling = 0;
  for (size_t emptying = partly.size(); emptying-- > filling + 1;) {
    if (!canEmpty(partly[emptying], leaving)) continue;
    if (moves.size() + leaving.size() > static_cast<size_t>(most)) break;
    while (holes.size() < leaving.size() + kSpareHoles && filling < emptying) addHoles(partly[filling++], holes);
    fillHoles(partly[emptying], leaving, holes, moves);
  }
  return moves;
}

/** Used pages with a block free: the fullest first. */
std::vector<int64_t> BlockPool::pagesByFill() const {
  std::vector<int64_t> partly;
  for (int64_t head = pages_.fullestPage(); head >= 0; head = pages_.fullestPage(pages_.freeOn(head) + 1)) {
    for (int64_t page = head; page >= 0; page = pages_.nextAlike(page)) partly.push_back(page);
  }
  std::stable_sort(partly.begin(), partly.end(),
                   [this](int64_t a, int64_t b) { return pages_.liveOn(a) > pages_.liveOn(b); });
  return partly;
}

/** Lists the blocks that must leave; false when one may not, or there is none. */
bool BlockPool::canEmpty(int64_t page, std::vector<BlockId>& leaving) const {
  return canEmpty({pages_.firstBlock(page), pages_.lastBlock(page) + 1, 0}, leaving);
}

bool BlockPool::canEmpty(const BlockGroup& group, std::vector<BlockId>& leaving) const {
  leaving.clear();
  for (BlockId id = group.first; id < group.end; ++id) {
    if (blocks_[id].state == State::kOwned) leaving.push_back(id);
    else if (blocks_[id].state != State::kFree) return false;
  }
  return !leaving.empty();
}

/** True for a free block that lies on used pages alone, none of them `emptying`. */
bool BlockPool::isHole(BlockId id, int64_t emptying) const {
  for (int64_t page = pages_.firstPage(id); page <= pages_.lastPage(id); ++page) {
    if (page == emptying || !pages_.isUsed(page)) return false;
  }
  return !pages_.isLive(id);
}

/** Adds the holes that begin on a page. */
void BlockPool::addHoles(int64_t page, std::vector<BlockId>& holes) const {
  for (BlockId id = pages_.firstBlock(page); id <= pages_.lastBlock(page); ++id) {
    if (pages_.firstPage(id) == page && isHole(id, -1)) holes.push_back(id);
  }
}

/** Moves what leaves a page into holes that lie on other used pages alone; all or nothing. */
void BlockPool::fillHoles(int64_t page, const std::vector<BlockId>& leaving, std::vector<BlockId>& holes,
                          std::vector<BlockMove>& moves) {
  const auto usable = std::stable_partition(holes.begin(), holes.end(), [&](BlockId id) { return isHole(id, page); });
  if (usable - holes.begin() < static_cast<int64_t>(leaving.size())) return;
  for (size_t index = 0; index < leaving.size(); ++index) move(leaving[index], holes[index], moves);
  holes.erase(holes.begin(), holes.begin() + static_cast<int64_t>(leaving.size()));
}

void BlockPool::move(BlockId from, BlockId to, std::vector<BlockMove>& moves) {
  blocks_[to] = {State::kOwned, blocks_[from].owner, 0};
  moves.push_back({blocks_[from].owner, from, to});
  pages_.occupy(to);
  setFree(from);
}

}  // namespace octavo
