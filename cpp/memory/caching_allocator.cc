#include "memory/caching_allocator.h"

#include <algorithm>

#include "base/error.h"
#include "memory/format_bytes.h"

namespace octavo {

namespace {

/** Addresses for half as much again as the device has: free blocks may lie scattered while all of it is in use. */
size_t rangePagesOf(Device& device) {
  const size_t pages = device.info().totalBytes / kPageBytes;
  return std::max<size_t>(1, pages + pages / 2);
}

}  // namespace

CachingAllocator::CachingAllocator(std::shared_ptr<DeviceAllocator> allocator, Region region, CachingOptions options)
    : allocator_(std::move(allocator)),
      options_(options),
      parts_{*allocator_, region, std::string(regionName(region)) + ".cached", options.limitBytes,
             rangePagesOf(allocator_->device()), true, {}, {}},
      cached_(allocator_->ledger(), region, parts_.cachedTag),
      waits_(allocator_->device()) {
  if (options.maxSplitSize > 0 && options.maxSplitSize <= kSmallBytes) {
    throw Error(ErrorCode::kInvalidArgument, "maxSplitSize is " + std::to_string(options.maxSplitSize) +
                                                 "; give 0 or more than " + std::to_string(kSmallBytes));
  }
  parts_.statistics.maxSplitSize = options.maxSplitSize;
}

CachingAllocator::~CachingAllocator() {
  // The lines of what is still out go back to the cache's own, or the pages could not leave the ledger.
  handedOut_.each([this](CachedBlock& block) {
    try {
      cached_.takeBack(block.line, block.bytes);
    } catch (const std::exception&) {
      // The ledger was broken before; the allocator's check() says so.
    }
  });
}

void* CachingAllocator::allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) {
  const size_t size = sizeOf(bytes, tag);
  BriefSection section(lock_);
  if (CachedBlock* const block = takeAtOnce(size, stream)) {
    try {
      block->line = cached_.handOutLocked(owner, tag, block->bytes);
    } catch (...) {
      block->segment->pool().release(*block);
      throw;
    }
    countHandOut(*block, bytes);
    return block->data;
  }
  section.prolong();
  if (!waits_.empty() && captures_.empty()) releasePassed();
  handedOut_.reserveOne();
  parts_.store.reserve(3);
  StreamPool& pool = poolFor(stream, size);
  CachedBlock* block = pool.take(size);
  if (!block) block = &obtain(pool, size, bytes, tag);
  handOut(*block, bytes, owner, tag);
  return block->data;
}

/** The cached path: nullptr where anything has to be asked, mapped, made or recorded first. */
CachedBlock* CachingAllocator::takeAtOnce(size_t size, const Stream* stream) {
  StreamPool* const pool = recent_[size <= kSmallBytes ? 0 : 1];
  const bool isPlain = pool && pool->stream == stream && pool->blockClass == classOf(size) && waits_.empty() &&
                       captures_.empty() && allocator_->trace().level() == 0;
  return isPlain && handedOut_.hasRoom() && parts_.store.has(1) ? pool->take(size) : nullptr;
}

size_t CachingAllocator::sizeOf(size_t bytes, std::string_view tag) const {
  if (bytes == 0) {
    throw Error(ErrorCode::kInvalidArgument, std::string("region ") + regionName(parts_.region) +
                                                 ": asked 0 bytes for " + std::string(tag) + "; ask at least 1");
  }
  constexpr size_t most = size_t{1} << 52;  // beyond any device, and no sum of it overflows
  const size_t size = rounded(std::min(bytes, most));
  const bool oversize = options_.maxSplitSize > 0 && size >= options_.maxSplitSize;
  return oversize ? (size + kPageBytes - 1) / kPageBytes * kPageBytes : size;
}

void CachingAllocator::handOut(CachedBlock& block, size_t asked, const Owner& owner, std::string_view tag) {
  StreamPool& pool = block.segment->pool();
  try {
    block.line = cached_.handOut(owner, tag, block.bytes);
  } catch (...) {
    pool.release(block);
    throw;
  }
  allocator_->trace().allocated(parts_.region, block.data, block.bytes, owner, tag);
  countHandOut(block, asked);
}

void CachingAllocator::countHandOut(CachedBlock& block, size_t asked) {
  const StreamPool& pool = block.segment->pool();
  block.state = BlockState::kAllocated;
  block.requestedBytes = asked;
  handedOut_.insert(block);
  MemoryStatistics& statistics = parts_.statistics;
  statistics.increase(pool.kind(), Counter::kAllocation, 1);
  statistics.increase(pool.kind(), Counter::kAllocatedBytes, block.bytes);
  statistics.increase(pool.kind(), Counter::kRequestedBytes, asked);
  if (pool.blockClass == BlockClass::kOversize) statistics.oversizeAllocations.increase(1);
  if (waiting_.any()) waiting_.notePeaks(statistics);
}

void CachingAllocator::deallocate(void* data, size_t bytes, Stream* stream) noexcept {
  BriefSection section(lock_);
  CachedBlock* const block = handedOut_.take(data);
  if (!block) return remember("an address was given back that is not handed out");
  try {
    if (canTakeBackAtOnce(*block, bytes, stream)) {
      countTakeBack(*block);
      cached_.takeBackLocked(block->line, block->bytes);
      return block->segment->pool().release(*block);
    }
    section.prolong();
    takeBack(*block, bytes, stream);
  } catch (const std::exception& error) {
    remember(error.what());
  }
}

bool CachingAllocator::canTakeBackAtOnce(const CachedBlock& block, size_t bytes, const Stream* stream) const {
  return bytes == block.requestedBytes && stream == block.segment->pool().stream && !block.isShared &&
         allocator_->trace().level() == 0;
}

void CachingAllocator::countTakeBack(const CachedBlock& block) {
  const StreamPool& pool = block.segment->pool();
  MemoryStatistics& statistics = parts_.statistics;
  statistics.decrease(pool.kind(), Counter::kAllocation, 1);
  statistics.decrease(pool.kind(), Counter::kAllocatedBytes, block.bytes);
  statistics.decrease(pool.kind(), Counter::kRequestedBytes, block.requestedBytes);
  if (pool.blockClass == BlockClass::kOversize) statistics.oversizeAllocations.decrease(1);
}

void CachingAllocator::takeBack(CachedBlock& block, size_t bytes, Stream* stream) {
  StreamPool& pool = block.segment->pool();
  if (bytes != block.requestedBytes) {
    remember("a block of " + std::to_string(block.requestedBytes) + " bytes was given back as " +
             std::to_string(bytes));
  }
  countTakeBack(block);
  block.state = BlockState::kWaiting;
  void* const line = block.line;
  block.left = block.right = nullptr;
  allocator_->trace().freeRequested(parts_.region, block.data, block.bytes, CachedLine::ownerOf(line),
                                    CachedLine::tagOf(line));
  cached_.takeBack(line, block.bytes);
  if (stream == pool.stream && !block.isShared) return release(block);
  if (stream != pool.stream) shareWith(block, stream);
  waiting_.begin(pool.kind(), block.bytes);
  waitOrRelease(block);
}

void CachingAllocator::release(CachedBlock& block) noexcept {
  StreamPool& pool = block.segment->pool();
  allocator_->trace().freeCompleted(parts_.region, block.data, block.bytes, {}, parts_.cachedTag);
  pool.release(block);
}

void CachingAllocator::endWait(CachedBlock& block) noexcept {
  waiting_.end(block.segment->pool().kind(), block.bytes);
  block.isShared = false;  // no stream works on it any more
  release(block);
}

StreamPool& CachingAllocator::poolFor(Stream* stream, size_t bytes) {
  const BlockClass blockClass = classOf(bytes);
  StreamPool*& recent = recent_[blockClass == BlockClass::kSmall ? 0 : 1];
  if (recent && recent->stream == stream && recent->blockClass == blockClass && captures_.empty()) return *recent;
  const GraphPoolId graphPool = capturedBy(stream);
  StreamPool* orphan = nullptr;
  for (const auto& pool : pools_) {
    if (pool->blockClass != blockClass || pool->graphPool != graphPool) continue;
    if (pool->isOrphan) {
      orphan = pool.get();
    } else if (pool->stream == stream) {
      if (graphPool == 0) recent = pool.get();
      return *pool;
    }
  }
  if (!orphan) return makePool(blockClass, stream, graphPool);
  orphan->stream = stream;
  orphan->isOrphan = false;
  return *orphan;
}

StreamPool& CachingAllocator::makePool(BlockClass blockClass, Stream* stream, GraphPoolId graphPool) {
  pools_.push_back(std::make_unique<StreamPool>(parts_, blockClass, stream, graphPool));
  return *pools_.back();
}

BlockClass CachingAllocator::classOf(size_t bytes) const {
  if (bytes <= kSmallBytes) return BlockClass::kSmall;
  return options_.maxSplitSize > 0 && bytes >= options_.maxSplitSize ? BlockClass::kOversize : BlockClass::kLarge;
}

void CachingAllocator::remember(const std::string& problem) noexcept {
  ++problems_;
  try {
    lastProblem_ = problem;
  } catch (...) {
    lastProblem_.clear();
  }
}

}  // namespace octavo
