// One range of addresses and the blocks that cover it, end to end. Private to the caching allocator.
#pragma once

#include "memory/cached_block.h"
#include "memory/page_range.h"

namespace octavo {

class StreamPool;

/**
 * Blocks in order of address, gaps (unmapped addresses) among them; no two neighbours are both free or both gaps,
 * but for blocks that are never split. Gaps are linked through `left` and `right`, lowest first.
 */
class Segment {
 public:
  /** All one gap, or all one free block where the device cannot map piecemeal. `store` has one record reserved. */
  Segment(PageRange range, StreamPool& pool, BlockStore& store);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  StreamPool& pool() const { return pool_; }
  PageRange& range() { return range_; }
  const PageRange& range() const { return range_; }
  CachedBlock* first() const { return first_; }
  CachedBlock* firstGap() const { return firstGap_; }
  bool isElastic() const { return elastic_; }

  /** First page wholly inside [data, data + bytes), and how many there are. What can be given back of a free block. */
  struct Pages { size_t first = 0, count = 0; };
  Pages wholePages(const CachedBlock& block) const {
    const size_t begin = offsetOf(block.data), end = begin + block.bytes;
    const size_t first = (begin + kPageBytes - 1) / kPageBytes, last = end / kPageBytes;
    return {first, (last - first) & -static_cast<size_t>(last > first)};  // no branch: as often as not
  }

  /** Cuts `block` after `bytes`; the rest is a new neighbour of the same state, in no index and no list. */
  CachedBlock& cut(CachedBlock& block, size_t bytes, BlockStore& store) noexcept {
    CachedBlock& rest = store.take(block.data + bytes, block.bytes - bytes, *this);
    rest.state = block.state;
    rest.previous = &block;
    rest.next = block.next;
    if (rest.next) rest.next->previous = &rest;
    block.next = &rest;
    block.bytes = bytes;
    return rest;
  }
  /** `block` swallows its next neighbour, which is in no index and no list. */
  void join(CachedBlock& block, BlockStore& store) noexcept {
    CachedBlock& swallowed = *block.next;
    block.bytes += swallowed.bytes;
    block.next = swallowed.next;
    if (block.next) block.next->previous = &block;
    store.recycle(swallowed);
  }
  /** The first `pages` pages of a gap with memory behind them: a free block in no index. Throws kOutOfMemory. */
  CachedBlock& map(CachedBlock& gap, size_t pages, BlockStore& store);
  /** Takes the memory from `pages` pages inside a free block in no index. Up to two free blocks are left of it. */
  struct Remains { CachedBlock* before = nullptr; CachedBlock* after = nullptr; };
  Remains unmap(CachedBlock& block, Pages pages, BlockStore& store) noexcept;

  /** Throws kInternal when blocks overlap, leave holes, or disagree with the mapped pages. */
  void check() const;

 private:
  size_t offsetOf(const char* data) const { return static_cast<size_t>(data - base_); }
  void link(CachedBlock& gap) noexcept;
  void unlink(CachedBlock& gap) noexcept;
  [[noreturn]] void fail(const CachedBlock& block, const char* problem) const;

  PageRange range_;
  char* const base_;
  const bool elastic_;
  StreamPool& pool_;
  CachedBlock* first_ = nullptr;
  CachedBlock* firstGap_ = nullptr;
};

}  // namespace octavo
