// The allocator's region of page-locked host memory: what is given back is kept for the next request of its class.
#include <algorithm>

#include "memory/allocator.h"

namespace octavo {

namespace {

constexpr size_t kPinnedIndex = static_cast<size_t>(Region::kPinned);

}  // namespace

void DeviceAllocator::keepPinned(size_t mostBytes) {
  const std::lock_guard lock(mutex_);
  pinnedPool_.setMost(mostBytes);
  giveKeptBack(mostBytes);
}

size_t DeviceAllocator::trimPinned(size_t mostBytes) noexcept {
  const std::lock_guard lock(mutex_);
  return giveKeptBack(mostBytes);
}

PinnedKept DeviceAllocator::pinnedKept() const {
  const std::lock_guard lock(mutex_);
  return {pinnedPool_.bytes(), pinnedPool_.buffers(), pinnedPool_.reuses()};
}

/** True when a kept buffer serves the allocation, whose line and requested bytes are set. */
bool DeviceAllocator::reusePinned(Allocation& allocation, size_t bytes) {
  void* const data = pinnedPool_.take(bytes);
  if (!data) return false;
  try {
    ledger_.transfer(keptLine_, allocation.line_, bytes, 1, 1);
  } catch (...) {
    pinnedPool_.keep({data, bytes});
    throw;
  }
  allocation.data_ = data;
  allocation.bytes_ = bytes;
  allocation.allocator_ = shared_from_this();
  countPinned(bytes, allocation.requestedBytes_, true);
  trace_.allocated(Region::kPinned, data, bytes, allocation.line_.owner(), allocation.line_.tag());
  return true;
}

/** False when it is to go to the device: nothing was changed then. */
bool DeviceAllocator::keepBuffer(void* data, size_t bytes, size_t requestedBytes, const LineHandle& line) noexcept {
  const RegionStatistics& statistics = regions_[kPinnedIndex];
  if (!pinnedPool_.canKeep(bytes) || statistics.allocatedBytes > statistics.limitBytes) return false;
  try {
    pinnedPool_.keep({data, bytes});
  } catch (const std::exception&) {
    return false;  // no memory for the note of it
  }
  countPinned(bytes, requestedBytes, false);
  try {
    ledger_.transfer(line, keptLine_, bytes, 1, 1);
  } catch (const std::exception& error) {
    remember(error);
  }
  return true;
}

/** Kept buffers must not stand in the way of a request, or of a lower limit. */
void DeviceAllocator::makePinnedRoom(size_t bytes) noexcept {
  const RegionStatistics& statistics = regions_[kPinnedIndex];
  const size_t kept = pinnedPool_.bytes();
  const size_t used = statistics.allocatedBytes - kept;
  const size_t limit = statistics.limitBytes;
  if (used > limit || bytes > limit - used) {
    if (bytes == 0) giveKeptBack(0);  // a request beyond the limit is refused whatever is kept
    return;
  }
  giveKeptBack(limit - used - bytes);
}

/** The device refused: true when it has something back and shall be asked again. */
bool DeviceAllocator::retryPinned() noexcept {
  if (giveKeptBack(0) == 0) return false;
  ++memory_[kPinnedIndex].allocRetries;
  return true;
}

size_t DeviceAllocator::giveKeptBack(size_t mostBytes) noexcept {
  MemoryStatistics& memory = memory_[kPinnedIndex];
  size_t given = 0;
  while (pinnedPool_.bytes() > mostBytes) {
    const PinnedPool::Buffer buffer = pinnedPool_.takeLargest();
    pinnedMemory_.deallocate(buffer.data, buffer.bytes, nullptr);
    given += buffer.bytes;
    regions_[kPinnedIndex].allocatedBytes -= buffer.bytes;
    memory.decrease(poolKindOf(buffer.bytes), Counter::kSegment, 1);
    memory.decrease(poolKindOf(buffer.bytes), Counter::kReservedBytes, buffer.bytes);
    ++memory.deviceFrees;
    try {
      ledger_.remove(keptLine_, buffer.bytes);
    } catch (const std::exception& error) {
      remember(error);
    }
  }
  memory.largestFreeBytes = pinnedPool_.largestBytes();
  return given;
}

/** A buffer goes to a caller, or comes back to be kept; it stays reserved. */
void DeviceAllocator::countPinned(size_t bytes, size_t requestedBytes, bool reused) {
  RegionStatistics& statistics = regions_[kPinnedIndex];
  MemoryStatistics& memory = memory_[kPinnedIndex];
  const PoolKind kind = poolKindOf(bytes);
  const auto change = [&](Counter counter, uint64_t amount) {
    reused ? memory.increase(kind, counter, amount) : memory.decrease(kind, counter, amount);
  };
  ++(reused ? statistics.allocations : statistics.frees);
  change(Counter::kAllocation, 1);
  change(Counter::kActive, 1);
  change(Counter::kAllocatedBytes, bytes);
  change(Counter::kActiveBytes, bytes);
  change(Counter::kRequestedBytes, requestedBytes);
  memory.largestFreeBytes = pinnedPool_.largestBytes();
}

}  // namespace octavo
