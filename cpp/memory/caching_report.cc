// The caching allocator seen from outside, and its integrity check.
#include <algorithm>

#include "base/error.h"
#include "memory/caching_allocator.h"

namespace octavo {

MemoryStatistics CachingAllocator::statistics() const {
  const std::lock_guard lock(lock_);
  MemoryStatistics statistics = counted();
  for (const auto& pool : pools_) {
    statistics.largestFreeBytes = std::max(statistics.largestFreeBytes, pool->freeIndex().largest());
  }
  return statistics;
}

MemoryStatistics CachingAllocator::counted() const {
  MemoryStatistics statistics = parts_.statistics;
  waiting_.complete(statistics);
  return statistics;
}

std::vector<SegmentReport> CachingAllocator::snapshot() const {
  const std::lock_guard lock(lock_);
  std::vector<SegmentReport> segments;
  for (const auto& pool : pools_) {
    for (const auto& segment : pool->segments()) {
      const PageRange& range = segment->range();
      SegmentReport report{pool->blockClass, pool->stream, pool->graphPool, range.pages(), range.mappedPages(), {}};
      for (const CachedBlock* block = segment->first(); block; block = block->next) {
        BlockReport entry{block->data, block->bytes, 0, block->state, {}, {}};
        if (block->state == BlockState::kAllocated) {
          entry.requestedBytes = block->requestedBytes;
          entry.owner = CachedLine::ownerOf(block->line);
          entry.tag = CachedLine::tagOf(block->line);
        }
        report.blocks.push_back(std::move(entry));
      }
      segments.push_back(std::move(report));
    }
  }
  return segments;
}

void CachingAllocator::check() const {
  const std::lock_guard lock(lock_);
  if (problems_ > 0) {
    throw Error(ErrorCode::kInternal, std::string("region ") + regionName(parts_.region) + ": " +
                                          std::to_string(problems_) + " deallocations did not match; the last: " +
                                          lastProblem_);
  }
  for (const auto& pool : pools_) pool->check();
  checkCounters();
  checkLedger();
}

namespace {

void require(const char* what, size_t counted, size_t found) {
  if (counted == found) return;
  throw Error(ErrorCode::kInternal, std::string("the cache counts ") + std::to_string(counted) + " " + what +
                                        ", its blocks say " + std::to_string(found));
}

}  // namespace

/** Every counter of what is there now, from the blocks. */
void CachingAllocator::checkCounters() const {
  size_t found[kCounters] = {};
  size_t records = 0, listed = 0;
  const auto add = [&](Counter counter, size_t amount) { found[static_cast<size_t>(counter)] += amount; };
  for (const auto& pool : pools_) {
    for (const auto& segment : pool->segments()) {
      add(Counter::kSegment, segment->range().mappedPages());
      add(Counter::kReservedBytes, segment->range().mappedPages() * kPageBytes);
      for (const CachedBlock* block = segment->first(); block; block = block->next) {
        ++records;
        const bool allocated = block->state == BlockState::kAllocated;
        if (allocated) {
          add(Counter::kAllocation, 1);
          add(Counter::kAllocatedBytes, block->bytes);
          add(Counter::kRequestedBytes, block->requestedBytes);
          listed += handedOut_.find(block->data) == block ? 1 : 0;
        }
        if (allocated || block->state == BlockState::kWaiting) {
          add(Counter::kActive, 1);
          add(Counter::kActiveBytes, block->bytes);
        }
        const size_t stuck = block->state == BlockState::kFree ? pool->stuckBytes(*block) : 0;
        add(Counter::kInactiveSplit, stuck > 0 ? 1 : 0);
        add(Counter::kInactiveSplitBytes, stuck);
      }
    }
  }
  const MemoryStatistics statistics = counted();
  for (size_t counter = 0; counter < kCounters; ++counter) {
    const auto each = static_cast<Counter>(counter);
    require(counterName(each), statistics.of(each).current, found[counter]);
  }
  require("blocks by address", handedOut_.size(), listed);
  require("block records", parts_.store.live(), records);
}

void CachingAllocator::checkLedger() const {
  size_t cached = 0;
  for (const LedgerLine& line : allocator_->ledger().lines()) {
    if (line.region == parts_.region && line.owner == Owner{} && line.tag == parts_.cachedTag) cached = line.bytes;
  }
  const MemoryStatistics& statistics = parts_.statistics;
  const size_t expected = statistics.of(Counter::kReservedBytes).current -
                          statistics.of(Counter::kAllocatedBytes).current;
  if (cached == expected) return;
  throw Error(ErrorCode::kInternal, "ledger line " + std::string(parts_.cachedTag) + " holds " +
                                        std::to_string(cached) + " bytes, the cache " + std::to_string(expected));
}

}  // namespace octavo
