// Blocks that other streams use, streams that end, and graphs that keep their addresses.
#include <algorithm>

#include "base/error.h"
#include "memory/caching_allocator.h"

namespace octavo {

void CachingAllocator::recordStream(void* data, Stream& stream) {
  const std::lock_guard lock(lock_);
  CachedBlock* const block = handedOut_.find(data);
  if (!block) {
    throw Error(ErrorCode::kInvalidArgument, std::string("region ") + regionName(parts_.region) +
                                                 ": recordStream of an address that is not handed out");
  }
  std::vector<Stream*>& users = BlockStore::useOf(*block).usedBy;
  const bool known = std::find(users.begin(), users.end(), &stream) != users.end();
  if (known || &stream == block->segment->pool().stream) return;
  users.push_back(&stream);
  block->isShared = true;
}

void CachingAllocator::shareWith(CachedBlock& block, Stream* freedOn) noexcept {
  BlockStore::useOf(block).freedOn = freedOn;
  block.isShared = true;
}

void CachingAllocator::waitOrRelease(CachedBlock& block) noexcept {
  const StreamUse& use = BlockStore::useOf(block);
  const bool isUsed = use.freedOn || !use.usedBy.empty();
  if (isUsed && !captures_.empty()) return defer(block);  // an event recorded now would belong to the graph
  try {
    awaitStreams(block);
  } catch (const std::exception&) {
    return defer(block);  // a failed device says so in the caller's own work
  }
  if (use.pendingEvents == 0) endWait(block);
}

void CachingAllocator::awaitStreams(CachedBlock& block) {
  StreamUse& use = BlockStore::useOf(block);
  while (!use.usedBy.empty()) {
    if (use.freedOn == use.usedBy.back()) use.freedOn = nullptr;
    waits_.add(block, *use.usedBy.back());
    use.usedBy.pop_back();
  }
  if (!use.freedOn) return;
  waits_.add(block, *use.freedOn);
  use.freedOn = nullptr;
}

void CachingAllocator::defer(CachedBlock& block) noexcept {
  ++BlockStore::useOf(block).pendingEvents;
  block.left = deferred_;
  deferred_ = &block;
}

void CachingAllocator::retryDeferred() noexcept {
  CachedBlock* block = deferred_;
  deferred_ = nullptr;
  while (block) {
    CachedBlock* const after = block->left;
    block->left = nullptr;
    --BlockStore::useOf(*block).pendingEvents;
    waitOrRelease(*block);
    block = after;
  }
}

template <typename Collect>
size_t CachingAllocator::releaseAll(const Collect& collect) {
  const auto finish = [this] {
    for (CachedBlock* block : passed_) endWait(*block);
    const size_t count = passed_.size();
    passed_.clear();
    return count;
  };
  try {
    collect();
  } catch (...) {
    finish();
    throw;
  }
  return finish();
}

void CachingAllocator::releasePassed() {
  releaseAll([this] { waits_.takePassed(passed_); });
}

/** How many blocks became free. */
size_t CachingAllocator::waitForStreams() {
  if (!captures_.empty()) return 0;
  retryDeferred();
  if (waits_.empty()) return 0;
  ++parts_.statistics.syncAllStreams;
  return releaseAll([this] { waits_.synchronize(passed_); });
}

void CachingAllocator::releaseStream(Stream& stream) {
  const std::lock_guard lock(lock_);
  if (capturedBy(&stream) != 0) {
    throw Error(ErrorCode::kInvalidArgument, "the stream captures into graph pool " +
                                                 std::to_string(capturedBy(&stream)) + "; end the capture first");
  }
  stream.synchronize();
  forgetUser(stream);
  releaseAll([&] { waits_.forget(stream, passed_); });
  retryDeferred();
  for (const auto& pool : pools_) {
    if (pool->stream != &stream) continue;
    pool->stream = nullptr;
    pool->isOrphan = true;
  }
  std::fill(std::begin(recent_), std::end(recent_), nullptr);
}

/** No block waits for its work any more. */
void CachingAllocator::forgetUser(const Stream& stream) noexcept {
  for (const auto& pool : pools_) {
    for (const auto& segment : pool->segments()) {
      for (CachedBlock* block = segment->first(); block; block = block->next) {
        if (!block->isShared) continue;
        StreamUse& use = BlockStore::useOf(*block);
        std::erase(use.usedBy, &stream);
        if (use.freedOn == &stream) use.freedOn = nullptr;
      }
    }
  }
}

GraphPoolId CachingAllocator::createGraphPool() {
  const std::lock_guard lock(lock_);
  holders_.emplace(lastGraphPool_ + 1, 1);
  return ++lastGraphPool_;
}

uint64_t& CachingAllocator::holdersOf(GraphPoolId pool) {
  const auto found = holders_.find(pool);
  if (found != holders_.end()) return found->second;
  throw Error(ErrorCode::kInvalidArgument, "there is no graph pool " + std::to_string(pool) +
                                               ": it was never created, or its last holder released it");
}

void CachingAllocator::retainGraphPool(GraphPoolId pool) {
  const std::lock_guard lock(lock_);
  ++holdersOf(pool);
}

void CachingAllocator::releaseGraphPool(GraphPoolId id) {
  const std::lock_guard lock(lock_);
  uint64_t& holders = holdersOf(id);
  for (const Capture& capture : captures_) {
    if (capture.pool != id || holders > 1) continue;
    throw Error(ErrorCode::kInvalidArgument, "graph pool " + std::to_string(id) +
                                                 " is being captured into; end the capture before its last release");
  }
  if (--holders > 0) return;
  holders_.erase(id);
  for (const auto& pool : pools_) {
    if (pool->graphPool == id) pool->unmapFree(SIZE_MAX);
  }
}

void CachingAllocator::beginCapture(GraphPoolId pool, Stream& stream) {
  const std::lock_guard lock(lock_);
  holdersOf(pool);
  if (capturedBy(&stream) != 0) {
    throw Error(ErrorCode::kInvalidArgument, "the stream already captures into graph pool " +
                                                 std::to_string(capturedBy(&stream)) + "; end that capture first");
  }
  captures_.push_back({&stream, pool});
}

void CachingAllocator::endCapture(Stream& stream) {
  const std::lock_guard lock(lock_);
  if (std::erase_if(captures_, [&](const Capture& capture) { return capture.stream == &stream; }) == 0) {
    throw Error(ErrorCode::kInvalidArgument, "the stream captures into no graph pool");
  }
  if (captures_.empty()) retryDeferred();
}

GraphPoolId CachingAllocator::capturedBy(const Stream* stream) const {
  for (const Capture& capture : captures_) {
    if (capture.stream == stream) return capture.pool;
  }
  return 0;
}

}  // namespace octavo
