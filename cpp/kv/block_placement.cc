#include "kv/block_placement.h"

#include <algorithm>

namespace octavo {

namespace {

constexpr int kHolesTried = 32;
constexpr int64_t kGrowPages = 8;  // mapped at once: the device grants access a run at a time

}  // namespace

BlockPlacement::Choice BlockPlacement::next(BlockId last, int64_t wanted, bool mayMap) const {
  Choice choice = following(last);
  if (choice.block >= 0 && (choice.pageCount == 0 || (mayMap && pages_.cached().pages() == 0))) return choice;
  if (pages_.blockBytes() > kPageBytes && wanted < pages_.groupBlocks()) {
    choice = inHole();
    if (choice.block >= 0) return choice;
  }
  choice = onCachedPage(wanted);
  if (choice.block >= 0 && choice.pageCount == 0) return choice;
  if (mayMap) choice = onNewPage(wanted);
  if (choice.block >= 0 && mayMap) return choice;
  choice = onUsedPage();
  return choice.block >= 0 ? choice : anyBacked();
}

bool BlockPlacement::shares(BlockId block) const {
  for (int64_t page = pages_.firstPage(block); page <= pages_.lastPage(block); ++page) {
    if (pages_.isUsed(page)) return true;
  }
  return false;
}

/** Beside a live block: of some such places the one that takes the fewest pages into use. */
BlockPlacement::Choice BlockPlacement::inHole() const {
  Choice best;
  int64_t fewest = 0, page = pages_.fullestPage();
  for (int tried = 0; page >= 0 && tried < kHolesTried; page = pages_.nextAlike(page), ++tried) {
    for (BlockId block = pages_.firstBlock(page); block <= pages_.lastBlock(page); ++block) {
      if (pages_.isLive(block) || !pages_.isBacked(block)) continue;
      const int64_t taken = pages_.unusedPages(block);
      if (best.block >= 0 && taken >= fewest) continue;
      fewest = taken;
      best = choose(block, 1);
    }
  }
  return best;
}

/** The block after the owner's last one, unless it lies on pages that others use. */
BlockPlacement::Choice BlockPlacement::following(BlockId last) const {
  const BlockId block = last + 1;
  if (last < 0 || !isFree(block)) return {};
  const bool onOwnPage = pages_.firstPage(block) == pages_.lastPage(last);
  if (!onOwnPage && pages_.isUsed(pages_.lastPage(block))) return {};
  return choose(block, 1);
}

/** If possible a backed block that shares no used page. */
BlockPlacement::Choice BlockPlacement::onCachedPage(int64_t wanted) const {
  const PageRuns::Run run = pages_.cached().bestFit(pages_.pagesFor(wanted) + 1);
  Choice best;
  if (run.count == 0) return best;
  const BlockId end = pages_.lastBlock(run.first + run.count - 1);
  for (BlockId block = pages_.firstBlock(run.first); block <= end; ++block) {
    const Choice choice = choose(block, 1);
    if (choice.pageCount > 0 && best.block >= 0) continue;
    best = choice;
    if (choice.pageCount == 0 && !shares(block)) break;
  }
  return best;
}

BlockPlacement::Choice BlockPlacement::onNewPage(int64_t wanted) const {
  const PageRuns::Run run = pages_.unmapped().bestFit(pages_.pagesFor(wanted) + 1);
  if (run.count == 0) return {};
  BlockId block = pages_.firstBlock(run.first);
  const bool hasNext = pages_.lastBlock(run.first + run.count - 1) > block;
  if (hasNext && shares(block)) ++block;
  return choose(block, wanted);
}

/** On the page with the most blocks free, so that the owner's next ones find room there too. */
BlockPlacement::Choice BlockPlacement::onUsedPage() const {
  const int64_t page = pages_.emptiestPage();
  if (page < 0) return {};
  BlockId block = pages_.firstBlock(page);
  while (pages_.isLive(block) || !pages_.isBacked(block)) ++block;
  return choose(block, 1);
}

/** What the others miss when no page can be had: a run of cached pages shorter than a block. */
BlockPlacement::Choice BlockPlacement::anyBacked() const {
  if (pages_.backedBlocks() == pages_.liveBlocks()) return {};
  BlockId block = 0;
  while (pages_.isLive(block) || !pages_.isBacked(block)) ++block;
  return choose(block, 1);
}

/** With the pages that `wanted` blocks from here on need, as far as the run of unmapped ones goes. */
BlockPlacement::Choice BlockPlacement::choose(BlockId block, int64_t wanted) const {
  Choice choice;
  choice.block = block;
  if (pages_.isBacked(block)) return choice;
  choice.firstPage = pages_.firstPage(block);
  const int64_t lastBlock = std::min<int64_t>(pages_.blocks() - 1, block + wanted - 1);
  const int64_t needed = pages_.lastPage(static_cast<BlockId>(lastBlock)) + 1 - choice.firstPage;
  const int64_t least = pages_.lastPage(block) + 1;
  const PageRuns::Run run = pages_.unmapped().find(least - 1);
  const int64_t end = run.count == 0 ? least : run.first + run.count;
  choice.pageCount = std::min(std::max(needed, kGrowPages), end - choice.firstPage);
  return choice;
}

}  // namespace octavo
