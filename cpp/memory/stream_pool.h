// The cached memory of one size class, stream and graph pool. Private to the caching allocator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/free_index.h"
#include "memory/memory_statistics.h"
#include "memory/segment.h"

namespace octavo {

/** Whose memory a captured graph's addresses are; 0: nobody's in particular. */
using GraphPoolId = uint64_t;

/**
 * Classes never share pages. Small: up to half a page, so that at least two live on a page and long-lived small blocks
 * pin pages of their own only. Large: the rest. Oversize: from maxSplitSize on, whole pages, never split or merged.
 */
enum class BlockClass : uint8_t { kSmall, kLarge, kOversize };
static_assert(kSmallBytes == kPageBytes / 2);

/** What the pools of one caching allocator share. Guarded by its lock. */
struct PoolParts {
  DeviceAllocator& allocator;
  Region region;
  std::string cachedTag;  // "<region>.cached"
  size_t limitBytes;
  size_t rangePages;      // addresses a pool reserves where that costs nothing
  bool elastic = true;    // until the device says otherwise
  BlockStore store;
  MemoryStatistics statistics;
};

class StreamPool {
 public:
  StreamPool(PoolParts& parts, BlockClass blockClass, Stream* stream, GraphPoolId graphPool)
      : blockClass(blockClass), stream(stream), graphPool(graphPool), parts_(parts),
        kind_(blockClass == BlockClass::kSmall ? PoolKind::kSmall : PoolKind::kLarge) {}
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  const BlockClass blockClass;
  Stream* stream;
  const GraphPoolId graphPool;
  bool isOrphan = false;  // its stream is gone; the next new stream adopts it

  PoolKind kind() const { return kind_; }

  /** The best fit for `bytes`, cut to size, in no index; nullptr when nothing free fits. Three records reserved. */
  CachedBlock* take(size_t bytes) noexcept {
    CachedBlock* const block = free_.takeBestFit(bytes, merges() ? SIZE_MAX : bytes + bytes / 8);
    if (!block) return nullptr;
    discountStuck(*block);
    return &cutToSize(*block, bytes);
  }
  /** The same from pages mapped for it, at the lowest gap that will do. Throws kOutOfMemory. */
  CachedBlock& grow(size_t bytes);
  /** Makes a block free, one with its free neighbours. */
  void release(CachedBlock& block) noexcept { insertFree(joinFreeNeighbours(block)); }
  /** Gives up to `most` whole free pages back, highest addresses first; how many. The device has finished with them. */
  size_t unmapFree(size_t most);

  const std::vector<std::unique_ptr<Segment>>& segments() const { return segments_; }
  const FreeIndex& freeIndex() const { return free_; }
  bool hasFreePages() const;
  /** Throws kInternal when segments and index disagree. */
  void check() const;
  /** Free bytes on pages that hold live bytes too. */
  size_t stuckBytes(const CachedBlock& block) const noexcept {
    const Segment& segment = *block.segment;
    if (segment.isElastic()) return block.bytes - segment.wholePages(block).count * kPageBytes;
    return block.bytes == segment.range().pages() * kPageBytes ? 0 : block.bytes;
  }

 private:
  bool merges() const { return blockClass != BlockClass::kOversize; }
  void insertFree(CachedBlock& block) noexcept {
    block.state = BlockState::kFree;
    free_.insert(block);
    countStuck(block);
  }
  void removeFree(CachedBlock& block) noexcept {
    free_.erase(block);
    discountStuck(block);
  }
  void countStuck(const CachedBlock& block) noexcept {
    const size_t stuck = stuckBytes(block);
    if (stuck == 0) return;
    parts_.statistics.increase(kind(), Counter::kInactiveSplit, 1);
    parts_.statistics.increase(kind(), Counter::kInactiveSplitBytes, stuck);
  }
  void discountStuck(const CachedBlock& block) noexcept {
    const size_t stuck = stuckBytes(block);
    if (stuck == 0) return;
    parts_.statistics.decrease(kind(), Counter::kInactiveSplit, 1);
    parts_.statistics.decrease(kind(), Counter::kInactiveSplitBytes, stuck);
  }
  CachedBlock& cutToSize(CachedBlock& block, size_t bytes) noexcept {
    if (block.bytes > bytes && merges()) insertFree(block.segment->cut(block, bytes, parts_.store));
    return block;
  }
  CachedBlock& joinFreeNeighbours(CachedBlock& block) noexcept {
    if (!merges()) return block;
    CachedBlock* joined = &block;
    CachedBlock* const below = block.previous;
    if (below && below->state == BlockState::kFree) {
      removeFree(*below);
      block.segment->join(*below, parts_.store);
      joined = below;
    }
    CachedBlock* const above = joined->next;
    if (above && above->state == BlockState::kFree) {
      removeFree(*above);
      joined->segment->join(*joined, parts_.store);
    }
    return *joined;
  }
  CachedBlock* findGap(size_t bytes, size_t& pages) const noexcept;
  CachedBlock& addSegment(size_t bytes);
  std::unique_ptr<AddressRange> reserve(size_t pages);
  void requireLimit(size_t pages) const;
  void countPages(size_t pages) noexcept;
  void discountPages(size_t pages) noexcept;
  size_t unmapFree(Segment& segment, size_t most);
  size_t dropFreeSegments();

  PoolParts& parts_;
  const PoolKind kind_;
  FreeIndex free_;
  std::vector<std::unique_ptr<Segment>> segments_;
};

}  // namespace octavo
