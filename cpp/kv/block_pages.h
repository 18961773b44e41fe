// Blocks lying end to end on pages: which pages are mapped, and how full they are.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/page_runs.h"
#include "memory/page_range.h"

namespace octavo {

using BlockId = int32_t;

/**
 * Block b is bytes [b · blockBytes, (b + 1) · blockBytes) of the range, so it may straddle pages and many may share
 * one. A block is *backed* when all its pages are mapped, *live* while someone holds it; a page is *used* while a
 * live block is on it, *cached* when it is mapped without one. Pure bookkeeping over a PageRange; not thread-safe.
 */
class BlockPages {
 public:
  BlockPages(PageRange& range, int64_t blocks, size_t blockBytes);

  int64_t blocks() const { return static_cast<int64_t>(live_.size()); }
  int64_t pages() const { return static_cast<int64_t>(pages_.size()); }
  size_t blockBytes() const { return blockBytes_; }
  bool elastic() const { return range_.elastic(); }
  int64_t firstPage(BlockId block) const;
  int64_t lastPage(BlockId block) const;
  /** The blocks that lie on a page, wholly or in part. */
  BlockId firstBlock(int64_t page) const;
  BlockId lastBlock(int64_t page) const;
  /** So many blocks fill whole pages, which no other block touches; at most kMostInGroup, then it is an estimate. */
  int64_t groupBlocks() const { return groupBlocks_; }
  static constexpr int64_t kMostInGroup = 16;
  /** Pages that so many blocks fill, rounded up. */
  int64_t pagesFor(int64_t blocks) const;

  bool isLive(BlockId block) const { return live_[block]; }
  bool isBacked(BlockId block) const;
  bool isUsed(int64_t page) const { return pages_[page].live > 0; }
  bool isMapped(int64_t page) const { return range_.isMapped(page); }
  /** Pages of a block that no live block is on. */
  int64_t unusedPages(BlockId block) const;
  uint32_t liveOn(int64_t page) const { return pages_[page].live; }

  /** A backed block that is not live becomes it. */
  void occupy(BlockId block);
  void vacate(BlockId block);
  /** Maps pages, none of which is mapped; returns how many blocks that backs. Throws what PageRange::map throws. */
  int64_t map(int64_t first, int64_t count);
  /** How many blocks lose their backing when cached pages [first, first + count) go. */
  int64_t backedOn(int64_t first, int64_t count) const;
  /** Gives cached pages [first, first + count) back. */
  void unmap(int64_t first, int64_t count);

  /** Mapped pages without a live block, and pages without memory. */
  const PageRuns& cached() const { return cached_; }
  const PageRuns& unmapped() const { return unmapped_; }
  int64_t mappedPages() const { return static_cast<int64_t>(range_.mappedPages()); }
  int64_t usedPages() const { return used_; }
  int64_t liveBlocks() const { return liveBlocks_; }
  int64_t backedBlocks() const { return backed_; }
  /** Bytes on used pages that no live block has: they cannot be given back without moving or ending one. */
  size_t stuckBytes() const;

  /** The used page with the fewest backed blocks free, of those that have at least `least`; -1 when none has. */
  int64_t fullestPage(uint32_t least = 1) const;
  /** The used page with the most backed blocks free; -1 when none has one. */
  int64_t emptiestPage() const;
  /** The next page of as many free blocks as this one, -1 at the end. */
  int64_t nextAlike(int64_t page) const { return pages_[page].next; }
  uint32_t freeOn(int64_t page) const { return pages_[page].open; }

  /** Throws kInternal naming the page when a count or a list is wrong. */
  void check() const;

 private:
  struct Page {
    uint32_t live = 0;           // live blocks on it
    uint32_t open = 0;           // backed blocks on it that are not live
    int64_t next = -1, prev = -1;  // of the used pages with the same `open`, when that is not 0
    bool listed = false;
  };

  void change(int64_t page, int live, int open);
  void list(int64_t page);
  void unlist(int64_t page);
  void checkPage(int64_t page, size_t& listed) const;

  PageRange& range_;
  size_t blockBytes_;
  int64_t groupBlocks_;
  std::vector<bool> live_;
  std::vector<Page> pages_;
  std::vector<int64_t> heads_;  // by `open`
  PageRuns cached_, unmapped_;
  int64_t used_ = 0, liveBlocks_ = 0, backed_ = 0;
};

}  // namespace octavo
