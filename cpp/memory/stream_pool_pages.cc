// How a pool takes pages from the device and gives them back.
#include <algorithm>

#include "memory/format_bytes.h"
#include "memory/stream_pool.h"

namespace octavo {

namespace {

constexpr size_t kWholeSegmentPages = 10;  // where pages cannot be mapped singly: 20 MiB a call to the driver

size_t pagesFor(size_t bytes) { return bytes / kPageBytes + (bytes % kPageBytes > 0 ? 1 : 0); }

}  // namespace

CachedBlock& StreamPool::grow(size_t bytes) {
  parts_.store.reserve(3);
  size_t pages = 0;
  CachedBlock* gap = findGap(bytes, pages);
  if (!gap) {
    CachedBlock& whole = addSegment(bytes);
    if (whole.state == BlockState::kFree) return cutToSize(whole, bytes);
    gap = findGap(bytes, pages);
  }
  requireLimit(pages);
  CachedBlock& mapped = gap->segment->map(*gap, pages, parts_.store);
  countPages(pages);
  return cutToSize(joinFreeNeighbours(mapped), bytes);
}

/** The lowest gap that, with its free neighbours, holds `bytes`; `pages` of it are to be mapped. */
CachedBlock* StreamPool::findGap(size_t bytes, size_t& pages) const noexcept {
  const auto freeBytes = [this](const CachedBlock* block) {
    return merges() && block && block->state == BlockState::kFree ? block->bytes : 0;
  };
  for (const auto& segment : segments_) {
    for (CachedBlock* gap = segment->firstGap(); gap; gap = gap->right) {
      const size_t before = freeBytes(gap->previous);
      if (before + gap->bytes + freeBytes(gap->next) < bytes) continue;
      pages = std::min(gap->bytes / kPageBytes, pagesFor(bytes - before));
      return gap;
    }
  }
  return nullptr;
}

/** One gap, or where pages cannot be mapped singly one free block in no index. */
CachedBlock& StreamPool::addSegment(size_t bytes) {
  segments_.reserve(segments_.size() + 1);
  const size_t pages = pagesFor(bytes);
  std::unique_ptr<AddressRange> addresses = reserve(pages);
  if (!addresses) throw parts_.allocator.deviceRefusal(parts_.region, pages * kPageBytes);
  const bool elastic = addresses->elastic();
  if (!elastic) requireLimit(addresses->pages());
  PageRange range(parts_.allocator, std::move(addresses), parts_.region, {}, parts_.cachedTag);
  segments_.push_back(std::make_unique<Segment>(std::move(range), *this, parts_.store));
  Segment& segment = *segments_.back();
  if (!elastic) countPages(segment.range().pages());
  return *segment.first();
}

std::unique_ptr<AddressRange> StreamPool::reserve(size_t pages) {
  if (pages > parts_.rangePages) return nullptr;  // more than the device has: no reason to doubt its ranges
  Device& device = parts_.allocator.device();
  if (parts_.elastic) {
    auto range = device.reserveAddresses(parts_.rangePages);
    if (range && range->elastic()) return range;
    parts_.elastic = false;
  }
  if (parts_.allocator.isToldToFail(parts_.region)) return nullptr;
  const size_t least = blockClass == BlockClass::kLarge ? kWholeSegmentPages : 1;
  return device.reserveAddresses(std::max(least, pages));
}

void StreamPool::requireLimit(size_t pages) const {
  const size_t reserved = parts_.statistics.of(Counter::kReservedBytes).current;
  const size_t asked = pages * kPageBytes;
  if (reserved <= parts_.limitBytes && asked <= parts_.limitBytes - reserved) return;
  throw Error(ErrorCode::kOutOfMemory, "the cache asked " + formatBytes(asked) + " more, holds " +
                                           formatBytes(reserved) + " of its limit " +
                                           formatBytes(parts_.limitBytes));
}

void StreamPool::countPages(size_t pages) noexcept {
  MemoryStatistics& statistics = parts_.statistics;
  statistics.increase(kind(), Counter::kSegment, pages);
  statistics.increase(kind(), Counter::kReservedBytes, pages * kPageBytes);
  ++statistics.deviceAllocs;
  if (blockClass == BlockClass::kOversize) statistics.oversizeSegments.increase(pages);
}

void StreamPool::discountPages(size_t pages) noexcept {
  MemoryStatistics& statistics = parts_.statistics;
  statistics.decrease(kind(), Counter::kSegment, pages);
  statistics.decrease(kind(), Counter::kReservedBytes, pages * kPageBytes);
  ++statistics.deviceFrees;
  if (blockClass == BlockClass::kOversize) statistics.oversizeSegments.decrease(pages);
}

size_t StreamPool::unmapFree(size_t most) {
  size_t given = 0;
  for (const auto& segment : segments_) {
    if (segment->isElastic() && given < most) given += unmapFree(*segment, most - given);
  }
  return given < most ? given + dropFreeSegments() : given;
}

size_t StreamPool::unmapFree(Segment& segment, size_t most) {
  CachedBlock* block = segment.first();
  while (block->next) block = block->next;
  size_t given = 0;
  while (block && given < most) {
    CachedBlock* const below = block->previous;
    Segment::Pages pages = segment.wholePages(*block);
    if (block->state == BlockState::kFree && pages.count > 0) {
      parts_.store.reserve(2);
      const size_t count = merges() ? std::min(pages.count, most - given) : pages.count;
      pages.first += pages.count - count;
      pages.count = count;
      removeFree(*block);
      const Segment::Remains remains = segment.unmap(*block, pages, parts_.store);
      if (remains.before) insertFree(*remains.before);
      if (remains.after) insertFree(*remains.after);
      discountPages(count);
      given += count;
    }
    block = below;
  }
  return given;
}

/** Where pages cannot be unmapped singly, a segment goes whole. */
size_t StreamPool::dropFreeSegments() {
  size_t given = 0;
  std::erase_if(segments_, [&](const std::unique_ptr<Segment>& segment) {
    CachedBlock& block = *segment->first();
    if (segment->isElastic() || block.state != BlockState::kFree || block.next) return false;
    const size_t pages = segment->range().pages();
    removeFree(block);
    parts_.store.recycle(block);
    discountPages(pages);
    given += pages;
    return true;
  });
  return given;
}

}  // namespace octavo
