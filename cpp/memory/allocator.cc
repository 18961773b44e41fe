#include "memory/allocator.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "memory/format_bytes.h"

namespace octavo {

namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

}  // namespace

std::shared_ptr<DeviceAllocator> DeviceAllocator::create(std::shared_ptr<Device> device) {
  return std::shared_ptr<DeviceAllocator>(new DeviceAllocator(std::move(device)));
}

DeviceAllocator::DeviceAllocator(std::shared_ptr<Device> device)
    : device_(std::move(device)),
      deviceMemory_(*device_),
      pinnedMemory_(*device_, DeviceMemoryKind::kPinnedHost),
      pinnedSource_(pinnedMemory_, [this] { return retryPinned(); }) {
  for (RegionStatistics& region : regions_) region.limitBytes = kUnlimited;
  ledger_.traceWith(trace_);
  keptLine_ = ledger_.line(Region::kPinned, {}, "pinned.kept");
}

DeviceAllocator::~DeviceAllocator() { giveKeptBack(0); }

size_t DeviceAllocator::rounded(Region region, size_t bytes) {
  return region == Region::kPinned ? PinnedPool::rounded(bytes) : rounded(bytes);
}

void DeviceAllocator::setLimit(Region region, size_t bytes) {
  const std::lock_guard lock(mutex_);
  regions_[static_cast<size_t>(region)].limitBytes = bytes;
  if (region == Region::kPinned) makePinnedRoom(0);
}

RegionStatistics DeviceAllocator::statistics(Region region) const {
  const std::lock_guard lock(mutex_);
  return regions_[static_cast<size_t>(region)];
}

MemoryStatistics DeviceAllocator::memoryStatistics(Region region) const {
  const std::lock_guard lock(mutex_);
  MemoryStatistics statistics = memory_[static_cast<size_t>(region)];
  statistics.ooms = regions_[static_cast<size_t>(region)].failures;
  return statistics;
}

Allocation DeviceAllocator::allocate(Region region, size_t bytes, Owner owner, const std::string& tag) {
  if (bytes == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string("region ") + regionName(region) + ": asked 0 bytes for " + tag + "; ask at least 1");
  }
  Allocation allocation;
  allocation.line_ = ledger_.line(region, owner, tag);
  // The lock is held over the device call so that limit, counters and ledger change as one.
  const std::lock_guard lock(mutex_);
  allocation.requestedBytes_ = bytes;
  if (region == Region::kPinned && reusePinned(allocation, rounded(region, bytes))) return allocation;
  try {
    checkLimit(region, bytes);
    bytes = rounded(region, bytes);
    allocation.data_ = takeFromDevice(region, bytes, owner, tag);
  } catch (...) {
    trace_.outOfMemory(region, bytes, owner, tag);
    throw;
  }
  allocation.bytes_ = bytes;
  ledger_.add(allocation.line_, bytes);
  count(region, bytes, allocation.requestedBytes_, 1);
  trace_.allocated(region, allocation.data_, bytes, owner, tag);
  allocation.allocator_ = shared_from_this();
  return allocation;
}

void DeviceAllocator::checkLimit(Region region, size_t bytes) {
  if (region == Region::kPinned) makePinnedRoom(rounded(region, bytes));
  RegionStatistics& statistics = regions_[static_cast<size_t>(region)];
  const size_t held = statistics.allocatedBytes;
  const size_t limit = statistics.limitBytes;
  const bool representable = bytes <= kUnlimited - 511;
  if (representable && held <= limit && rounded(region, bytes) <= limit - held) return;
  ++statistics.failures;
  const std::string name = regionName(region);
  throw Error(ErrorCode::kOutOfMemory, "region " + name + ": asked " + formatBytes(bytes) + ", holds " +
                                           formatBytes(held) + " of its limit " + formatBytes(limit) +
                                           "; raise memory.limit or ask for less (fewer sequences, fewer batch "
                                           "tokens, a smaller KV cache or model)");
}

MemoryResource& DeviceAllocator::sourceOf(Region region) {
  if (region == Region::kPinned) return pinnedSource_;
  return deviceMemory_;
}

void* DeviceAllocator::takeFromDevice(Region region, size_t bytes, Owner owner, const std::string& tag) {
  FailureAdaptor source(sourceOf(region), failure_, region);
  try {
    return source.allocate(bytes, nullptr, owner, tag);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    throw refused(region, error);
  }
}

Error DeviceAllocator::refused(Region region, const Error& cause) {
  ++regions_[static_cast<size_t>(region)].failures;
  return {cause.code(), std::string("region ") + regionName(region) + ": " + cause.what()};
}

void DeviceAllocator::free(void* data, size_t bytes, size_t requestedBytes, const LineHandle& line) noexcept {
  const Region region = line.region();
  const std::lock_guard lock(mutex_);
  trace_.freeRequested(region, data, bytes, line.owner(), line.tag());
  trace_.freeCompleted(region, data, bytes, line.owner(), line.tag());
  if (region == Region::kPinned && keepBuffer(data, bytes, requestedBytes, line)) return;
  sourceOf(region).deallocate(data, bytes, nullptr);
  discount(region, bytes, requestedBytes, 1);
  try {
    ledger_.remove(line, bytes);
  } catch (const std::exception& error) {
    remember(error);
  }
}

void DeviceAllocator::charge(Region region, size_t bytes, Owner owner, const std::string& tag, uint64_t pieces) {
  const std::lock_guard lock(mutex_);
  checkLimit(region, bytes);
  ledger_.add(region, owner, tag, bytes, pieces);
  count(region, bytes, bytes, pieces);
}

void DeviceAllocator::refund(Region region, size_t bytes, Owner owner, const std::string& tag,
                             uint64_t pieces) noexcept {
  const std::lock_guard lock(mutex_);
  discount(region, bytes, bytes, pieces);
  try {
    ledger_.remove(region, owner, tag, bytes, pieces);
  } catch (const std::exception& error) {
    remember(error);
  }
}

Error DeviceAllocator::deviceRefusal(Region region, size_t bytes) {
  const auto kind = region == Region::kPinned ? DeviceMemoryKind::kPinnedHost : DeviceMemoryKind::kDevice;
  const std::lock_guard lock(mutex_);
  return refused(region, deviceExhausted(*device_, kind, bytes));
}

void DeviceAllocator::count(Region region, size_t bytes, size_t requestedBytes, uint64_t pieces) {
  RegionStatistics& statistics = regions_[static_cast<size_t>(region)];
  statistics.allocatedBytes += bytes;
  statistics.allocatedPeakBytes = std::max(statistics.allocatedPeakBytes, statistics.allocatedBytes);
  statistics.allocations += pieces;
  MemoryStatistics& memory = memory_[static_cast<size_t>(region)];
  const PoolKind kind = poolKindOf(bytes);
  for (const Counter counter : {Counter::kAllocation, Counter::kSegment, Counter::kActive}) {
    memory.increase(kind, counter, pieces);
  }
  for (const Counter counter : {Counter::kAllocatedBytes, Counter::kReservedBytes, Counter::kActiveBytes}) {
    memory.increase(kind, counter, bytes);
  }
  memory.increase(kind, Counter::kRequestedBytes, requestedBytes);
  ++memory.deviceAllocs;
}

void DeviceAllocator::discount(Region region, size_t bytes, size_t requestedBytes, uint64_t pieces) {
  RegionStatistics& statistics = regions_[static_cast<size_t>(region)];
  statistics.allocatedBytes -= bytes;
  statistics.frees += pieces;
  MemoryStatistics& memory = memory_[static_cast<size_t>(region)];
  const PoolKind kind = poolKindOf(bytes);
  for (const Counter counter : {Counter::kAllocation, Counter::kSegment, Counter::kActive}) {
    memory.decrease(kind, counter, pieces);
  }
  for (const Counter counter : {Counter::kAllocatedBytes, Counter::kReservedBytes, Counter::kActiveBytes}) {
    memory.decrease(kind, counter, bytes);
  }
  memory.decrease(kind, Counter::kRequestedBytes, requestedBytes);
  ++memory.deviceFrees;
}

/** A release cannot throw: check() will say it. */
void DeviceAllocator::remember(const std::exception& problem) noexcept {
  ++unbalancedFrees_;
  try {
    lastProblem_ = problem.what();
  } catch (...) {
    lastProblem_.clear();
  }
}

void DeviceAllocator::check() const {
  const std::lock_guard lock(mutex_);
  if (unbalancedFrees_ > 0) {
    throw Error(ErrorCode::kInternal, "allocator: " + std::to_string(unbalancedFrees_) +
                                          " frees did not balance; the last: " + lastProblem_);
  }
  ledger_.check();
  trace_.check();
  pinnedPool_.check();
  for (int index = 0; index < kRegionCount; ++index) {
    const auto region = static_cast<Region>(index);
    const RegionStatistics& statistics = regions_[index];
    const uint64_t live = statistics.allocations - statistics.frees;
    const size_t booked = ledger_.regionBytes(region);
    const size_t kept = region == Region::kPinned ? pinnedPool_.bytes() : 0;
    if (booked == statistics.allocatedBytes && booked >= kept && (live == 0) == (booked == kept)) continue;
    throw Error(ErrorCode::kInternal, std::string("region ") + regionName(region) + ": the allocator holds " +
                                          std::to_string(statistics.allocatedBytes) + " bytes in " +
                                          std::to_string(live) + " allocations, the ledger shows " +
                                          std::to_string(booked) + " bytes");
  }
}

}  // namespace octavo
