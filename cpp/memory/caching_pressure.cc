// When the cache has nothing that fits: grow, give back, wait, refuse.
#include <algorithm>

#include "base/error.h"
#include "memory/caching_allocator.h"
#include "memory/format_bytes.h"

namespace octavo {

namespace {

bool isOutOfMemory(const Error& error) { return error.code() == ErrorCode::kOutOfMemory; }

}  // namespace

CachedBlock& CachingAllocator::obtain(StreamPool& pool, size_t bytes, size_t asked, std::string_view tag) {
  try {
    return pool.grow(bytes);
  } catch (const Error& error) {
    if (!isOutOfMemory(error)) throw;
    if (CachedBlock* const block = retry(pool, bytes)) return *block;
    throw outOfMemory(asked, tag, error);
  }
}

/** Asks again after each thing that may have made room; nullptr when nothing did. */
CachedBlock* CachingAllocator::retry(StreamPool& pool, size_t bytes) {
  const auto growAgain = [&]() -> CachedBlock* {
    ++parts_.statistics.allocRetries;
    try {
      return &pool.grow(bytes);
    } catch (const Error& error) {
      if (!isOutOfMemory(error)) throw;
      return nullptr;
    }
  };
  if (trimPages(SIZE_MAX) > 0) {
    if (CachedBlock* const block = growAgain()) return block;
  }
  if (waitForStreams() == 0) return nullptr;
  parts_.store.reserve(3);
  if (CachedBlock* const block = pool.take(bytes)) return block;
  trimPages(SIZE_MAX);
  return growAgain();
}

size_t CachingAllocator::trim(size_t keepBytes) {
  const std::lock_guard lock(lock_);
  if (captures_.empty()) {
    retryDeferred();
    releasePassed();
  }
  const size_t reserved = parts_.statistics.of(Counter::kReservedBytes).current;
  if (reserved <= keepBytes) return 0;
  return trimPages((reserved - keepBytes + kPageBytes - 1) / kPageBytes) * kPageBytes;
}

/** Up to `most` pages, large pools first: theirs are the fewest calls. */
size_t CachingAllocator::trimPages(size_t most) {
  size_t given = 0;
  for (const bool small : {false, true}) {
    for (const auto& pool : pools_) {
      const bool isSmall = pool->blockClass == BlockClass::kSmall;
      if (isSmall != small || given >= most || !canTrim(*pool) || !pool->hasFreePages()) continue;
      if (pool->stream) pool->stream->synchronize();  // what is free was freed in the stream's order, not in time's
      given += pool->unmapFree(most - given);
    }
  }
  return given;
}

bool CachingAllocator::canTrim(const StreamPool& pool) const {
  return capturedBy(pool.stream) == 0 && (pool.graphPool == 0 || !holders_.contains(pool.graphPool));
}

Error CachingAllocator::outOfMemory(size_t asked, std::string_view tag, const Error& cause) {
  MemoryStatistics& statistics = parts_.statistics;
  ++statistics.ooms;
  const size_t reserved = statistics.of(Counter::kReservedBytes).current;
  const size_t allocated = statistics.of(Counter::kAllocatedBytes).current;
  const size_t active = counted().of(Counter::kActiveBytes).current;
  size_t largest = 0;
  for (const auto& pool : pools_) largest = std::max(largest, pool->freeIndex().largest());
  return {ErrorCode::kOutOfMemory,
          std::string("region ") + regionName(parts_.region) + ": asked " + formatBytes(asked) + " for " +
              std::string(tag) + "; the cache holds " + formatBytes(reserved) + ": " + formatBytes(allocated) +
              " in " + std::to_string(statistics.of(Counter::kAllocation).current) + " allocations, " +
              formatBytes(active - allocated) + " that wait for streams, " + formatBytes(reserved - active) +
              " free, of which the largest block " + formatBytes(largest) + " and " +
              formatBytes(statistics.of(Counter::kInactiveSplitBytes).current) +
              " on pages with live blocks; and no more was to be had: " + cause.what()};
}

}  // namespace octavo
