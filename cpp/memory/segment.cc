#include "memory/segment.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

Segment::Segment(PageRange range, StreamPool& pool, BlockStore& store)
    : range_(std::move(range)), base_(static_cast<char*>(range_.base())), elastic_(range_.elastic()), pool_(pool) {
  first_ = &store.take(base_, range_.pages() * kPageBytes, *this);
  if (isElastic()) {
    link(*first_);
    return;
  }
  range_.map(0, range_.pages());
  first_->state = BlockState::kFree;
}

CachedBlock& Segment::map(CachedBlock& gap, size_t pages, BlockStore& store) {
  range_.map(offsetOf(gap.data) / kPageBytes, pages);
  const size_t bytes = pages * kPageBytes;
  unlink(gap);
  if (bytes < gap.bytes) {
    CachedBlock& rest = cut(gap, bytes, store);
    link(rest);
  }
  gap.state = BlockState::kFree;
  gap.left = gap.right = nullptr;
  return gap;
}

Segment::Remains Segment::unmap(CachedBlock& block, Pages pages, BlockStore& store) noexcept {
  range_.unmap(pages.first, pages.count);
  Remains remains;
  CachedBlock* hole = &block;
  const size_t before = pages.first * kPageBytes - offsetOf(block.data);
  if (before > 0) {
    remains.before = &block;
    hole = &cut(block, before, store);
  }
  if (hole->bytes > pages.count * kPageBytes) remains.after = &cut(*hole, pages.count * kPageBytes, store);
  hole->state = BlockState::kUnmapped;
  if (hole->next && hole->next->state == BlockState::kUnmapped) {
    unlink(*hole->next);
    join(*hole, store);
  }
  if (hole->previous && hole->previous->state == BlockState::kUnmapped) {
    join(*hole->previous, store);
    return remains;
  }
  link(*hole);
  return remains;
}

void Segment::link(CachedBlock& gap) noexcept {
  CachedBlock* below = nullptr;
  CachedBlock* above = firstGap_;
  while (above && above->data < gap.data) {
    below = above;
    above = above->right;
  }
  gap.left = below;
  gap.right = above;
  if (above) above->left = &gap;
  (below ? below->right : firstGap_) = &gap;
}

void Segment::unlink(CachedBlock& gap) noexcept {
  if (gap.right) gap.right->left = gap.left;
  (gap.left ? gap.left->right : firstGap_) = gap.right;
}

void Segment::check() const {
  range_.check();
  const char* expected = base_;
  const CachedBlock* gap = firstGap_;
  size_t gapPages = 0;
  for (const CachedBlock* block = first_; block; block = block->next) {
    if (block->data != expected) fail(*block, "does not begin where its neighbour ends");
    if (block->segment != this || block->bytes == 0) fail(*block, "is empty or of another segment");
    if (block->next && block->next->previous != block) fail(*block, "is not its neighbour's neighbour");
    expected = block->end();
    if (block->state != BlockState::kUnmapped) continue;
    if (block != gap) fail(*block, "is not the next of the gaps");
    gap = gap->right;
    if (block->next && block->next->state == BlockState::kUnmapped) fail(*block, "lies beside another gap");
    for (size_t page = 0; page < block->bytes / kPageBytes; ++page) {
      if (range_.isMapped(offsetOf(block->data) / kPageBytes + page)) fail(*block, "has memory");
    }
    gapPages += block->bytes / kPageBytes;
  }
  if (expected != base_ + range_.pages() * kPageBytes || gap) {
    fail(*first_, "and its neighbours do not cover the segment");
  }
  if (gapPages + range_.mappedPages() != range_.pages()) fail(*first_, "and its neighbours miscount the mapped pages");
}

void Segment::fail(const CachedBlock& block, const char* problem) const {
  throw Error(ErrorCode::kInternal, "the block at offset " + std::to_string(offsetOf(block.data)) + " of " +
                                        std::to_string(block.bytes) + " bytes " + problem);
}

}  // namespace octavo
