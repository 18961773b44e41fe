// Where the next block of an owner goes, so that pages empty as owners end.
#pragma once

#include "kv/block_pages.h"

namespace octavo {

/**
 * Each owner's blocks lie in runs on pages of their own; cached pages are used before new ones are mapped, and pages
 * are shared only when there are no others. What this strands on partly used pages, compaction takes back: on the
 * replay of real traces (scripts/bench/memory.cjs) that keeps less stranded, with fewer pages pinned by idle owners,
 * than filling holes as blocks are taken. Blocks larger than a page are pieces by themselves, so that an owner who
 * grows by a few takes holes beside others' blocks: each would strand up to a page of its own elsewhere.
 */
class BlockPlacement {
 public:
  explicit BlockPlacement(BlockPages& pages) : pages_(pages) {}

  /** A free block and the pages it needs mapped first; `block` -1: there is none. */
  struct Choice {
    BlockId block = -1;
    int64_t firstPage = 0, pageCount = 0;  // some of them not mapped; 0: all are
  };
  /**
   * For an owner whose last block is `last` (-1: none) and who will want `wanted` blocks, this one counted.
   * `mayMap` false: only backed blocks.
   */
  Choice next(BlockId last, int64_t wanted, bool mayMap) const;

 private:
  bool isFree(BlockId block) const { return block >= 0 && block < pages_.blocks() && !pages_.isLive(block); }
  bool shares(BlockId block) const;
  Choice following(BlockId last) const;
  Choice onCachedPage(int64_t wanted) const;
  Choice onNewPage(int64_t wanted) const;
  Choice onUsedPage() const;
  Choice inHole() const;
  Choice anyBacked() const;
  Choice choose(BlockId block, int64_t wanted) const;

  BlockPages& pages_;
};

}  // namespace octavo
