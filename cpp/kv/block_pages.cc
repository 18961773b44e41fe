#include "kv/block_pages.h"

#include <algorithm>
#include <numeric>

namespace octavo {

BlockPages::BlockPages(PageRange& range, int64_t blocks, size_t blockBytes)
    : range_(range),
      blockBytes_(blockBytes),
      groupBlocks_(std::min(kMostInGroup, static_cast<int64_t>(kPageBytes / std::gcd(blockBytes, kPageBytes)))),
      live_(static_cast<size_t>(blocks), false),
      pages_(range.pages()),
      heads_(kPageBytes / blockBytes + 3, -1) {
  unmapped_.add(0, pages());
  if (!elastic()) map(0, pages());  // they are held anyway
}

int64_t BlockPages::firstPage(BlockId block) const {
  return static_cast<int64_t>(static_cast<size_t>(block) * blockBytes_ / kPageBytes);
}

int64_t BlockPages::lastPage(BlockId block) const {
  return static_cast<int64_t>(((static_cast<size_t>(block) + 1) * blockBytes_ - 1) / kPageBytes);
}

BlockId BlockPages::firstBlock(int64_t page) const {
  const size_t block = static_cast<size_t>(page) * kPageBytes / blockBytes_;
  return static_cast<BlockId>(std::min(block, live_.size()));  // a page of padding has none
}

BlockId BlockPages::lastBlock(int64_t page) const {
  const size_t block = (static_cast<size_t>(page + 1) * kPageBytes - 1) / blockBytes_;
  return static_cast<BlockId>(std::min(block, live_.size() - 1));
}

int64_t BlockPages::pagesFor(int64_t blocks) const {
  return static_cast<int64_t>((static_cast<size_t>(blocks) * blockBytes_ + kPageBytes - 1) / kPageBytes);
}

bool BlockPages::isBacked(BlockId block) const {
  for (int64_t page = firstPage(block); page <= lastPage(block); ++page) {
    if (!isMapped(page)) return false;
  }
  return true;
}

int64_t BlockPages::unusedPages(BlockId block) const {
  int64_t unused = 0;
  for (int64_t page = firstPage(block); page <= lastPage(block); ++page) unused += isUsed(page) ? 0 : 1;
  return unused;
}

void BlockPages::occupy(BlockId block) {
  live_[block] = true;
  ++liveBlocks_;
  for (int64_t page = firstPage(block); page <= lastPage(block); ++page) change(page, 1, -1);
}

void BlockPages::vacate(BlockId block) {
  live_[block] = false;
  --liveBlocks_;
  for (int64_t page = firstPage(block); page <= lastPage(block); ++page) change(page, -1, 1);
}

int64_t BlockPages::map(int64_t first, int64_t count) {
  range_.map(static_cast<size_t>(first), static_cast<size_t>(count));
  unmapped_.remove(first, count);
  cached_.add(first, count);
  const int64_t before = backed_;
  for (BlockId block = firstBlock(first); block <= lastBlock(first + count - 1); ++block) {
    if (!isBacked(block)) continue;
    ++backed_;
    for (int64_t page = firstPage(block); page <= lastPage(block); ++page) change(page, 0, 1);
  }
  return backed_ - before;
}

int64_t BlockPages::backedOn(int64_t first, int64_t count) const {
  int64_t backed = 0;
  for (BlockId block = firstBlock(first); block <= lastBlock(first + count - 1); ++block) backed += isBacked(block);
  return backed;
}

void BlockPages::unmap(int64_t first, int64_t count) {
  for (BlockId block = firstBlock(first); block <= lastBlock(first + count - 1); ++block) {
    if (!isBacked(block)) continue;
    --backed_;
    for (int64_t page = firstPage(block); page <= lastPage(block); ++page) change(page, 0, -1);
  }
  cached_.remove(first, count);
  unmapped_.add(first, count);
  range_.unmap(static_cast<size_t>(first), static_cast<size_t>(count));
}

size_t BlockPages::stuckBytes() const {
  return static_cast<size_t>(used_) * kPageBytes - static_cast<size_t>(liveBlocks_) * blockBytes_;
}

int64_t BlockPages::fullestPage(uint32_t least) const {
  for (uint32_t open = std::max(least, 1u); open < heads_.size(); ++open) {
    if (heads_[open] >= 0) return heads_[open];
  }
  return -1;
}

int64_t BlockPages::emptiestPage() const {
  for (size_t open = heads_.size(); --open > 0;) {
    if (heads_[open] >= 0) return heads_[open];
  }
  return -1;
}

void BlockPages::change(int64_t page, int live, int open) {
  Page& changed = pages_[page];
  const bool wasUsed = changed.live > 0;
  unlist(page);
  changed.live += live;
  changed.open += open;
  const bool isUsedNow = changed.live > 0;
  if (isUsedNow && changed.open > 0) list(page);
  if (wasUsed == isUsedNow) return;
  used_ += isUsedNow ? 1 : -1;
  if (isUsedNow) cached_.remove(page, 1);
  else cached_.add(page, 1);
}

void BlockPages::list(int64_t page) {
  Page& listed = pages_[page];
  int64_t& head = heads_[listed.open];
  listed.prev = -1;
  listed.next = head;
  if (head >= 0) pages_[head].prev = page;
  head = page;
  listed.listed = true;
}

void BlockPages::unlist(int64_t page) {
  Page& listed = pages_[page];
  if (!listed.listed) return;
  if (listed.next >= 0) pages_[listed.next].prev = listed.prev;
  if (listed.prev >= 0) pages_[listed.prev].next = listed.next;
  else heads_[listed.open] = listed.next;
  listed.next = listed.prev = -1;
  listed.listed = false;
}

}  // namespace octavo
