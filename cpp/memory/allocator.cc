#include "memory/allocator.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "memory/format_bytes.h"

namespace octavo {

namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

/** What the device says it has left; allocation errors must not hide behind a second failure. */
std::string freeOnDevice(Device& device) {
  try {
    const DeviceMemoryUse use = device.memoryUse();
    return formatBytes(use.freeBytes) + " free of " + formatBytes(use.totalBytes);
  } catch (const std::exception& error) {
    return std::string("unknown memory left (") + error.what() + ")";
  }
}

}  // namespace

std::shared_ptr<DeviceAllocator> DeviceAllocator::create(std::shared_ptr<Device> device) {
  return std::shared_ptr<DeviceAllocator>(new DeviceAllocator(std::move(device)));
}

DeviceAllocator::DeviceAllocator(std::shared_ptr<Device> device) : device_(std::move(device)) {
  for (RegionStatistics& region : regions_) region.limitBytes = kUnlimited;
  ledger_.traceWith(trace_);
}

void DeviceAllocator::setLimit(Region region, size_t bytes) {
  const std::lock_guard lock(mutex_);
  regions_[static_cast<size_t>(region)].limitBytes = bytes;
}

RegionStatistics DeviceAllocator::statistics(Region region) const {
  const std::lock_guard lock(mutex_);
  return regions_[static_cast<size_t>(region)];
}

Allocation DeviceAllocator::allocate(Region region, size_t bytes, Owner owner, const std::string& tag) {
  if (bytes == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string("region ") + regionName(region) + ": asked 0 bytes for " + tag + "; ask at least 1");
  }
  Allocation allocation;
  allocation.region_ = region;
  allocation.owner_ = owner;
  allocation.tag_ = tag;

  // The lock is held over the device call so that limit, counters and ledger change as one.
  const std::lock_guard lock(mutex_);
  void* data = nullptr;
  try {
    checkLimit(region, bytes);
    bytes = rounded(bytes);
    data = takeFromDevice(region, bytes);
  } catch (...) {
    trace_.outOfMemory(region, bytes, owner, tag);
    throw;
  }
  try {
    book(region, bytes, owner, tag, 1);
  } catch (...) {
    giveToDevice(region, data, bytes);
    throw;
  }
  trace_.allocated(region, data, bytes, owner, tag);
  allocation.data_ = data;
  allocation.bytes_ = bytes;
  allocation.allocator_ = shared_from_this();
  return allocation;
}

void DeviceAllocator::checkLimit(Region region, size_t bytes) {
  RegionStatistics& statistics = regions_[static_cast<size_t>(region)];
  const size_t held = statistics.allocatedBytes;
  const size_t limit = statistics.limitBytes;
  const bool representable = bytes <= kUnlimited - 511;
  if (representable && held <= limit && rounded(bytes) <= limit - held) return;
  ++statistics.failures;
  const std::string name = regionName(region);
  throw Error(ErrorCode::kOutOfMemory, "region " + name + ": asked " + formatBytes(bytes) + ", holds " +
                                           formatBytes(held) + " of its limit " + formatBytes(limit) +
                                           "; raise memory.limit or ask for less (fewer sequences, fewer batch "
                                           "tokens, a smaller KV cache or model)");
}

void* DeviceAllocator::takeFromDevice(Region region, size_t bytes) {
  void* data = nullptr;
  if (!isToldToFail()) {
    data = region == Region::kPinned ? device_->allocatePinnedRaw(bytes) : device_->allocateRaw(bytes);
  }
  if (data) return data;
  throw refusalOf(region, bytes);
}

Error DeviceAllocator::refusalOf(Region region, size_t bytes) {
  ++regions_[static_cast<size_t>(region)].failures;
  const std::string what = region == Region::kPinned ? "page-locked host memory for " : "memory of ";
  return {ErrorCode::kOutOfMemory,
          std::string("region ") + regionName(region) + ": asked " + formatBytes(bytes) + " of " + what +
              device_->info().id + " (" + device_->info().name + "), which has " + freeOnDevice(*device_) +
              "; close what else uses the device, or ask for less"};
}

void DeviceAllocator::giveToDevice(Region region, void* data, size_t bytes) noexcept {
  if (region == Region::kPinned) {
    device_->freePinnedRaw(data, bytes);
  } else {
    device_->freeRaw(data, bytes);
  }
}

void DeviceAllocator::free(Region region, void* data, size_t bytes, Owner owner, const std::string& tag) noexcept {
  const std::lock_guard lock(mutex_);
  trace_.freeRequested(region, data, bytes, owner, tag);
  trace_.freeCompleted(region, data, bytes, owner, tag);
  giveToDevice(region, data, bytes);
  unbook(region, bytes, owner, tag, 1);
}

void DeviceAllocator::charge(Region region, size_t bytes, Owner owner, const std::string& tag, uint64_t count) {
  const std::lock_guard lock(mutex_);
  checkLimit(region, bytes);
  book(region, bytes, owner, tag, count);
}

void DeviceAllocator::refund(Region region, size_t bytes, Owner owner, const std::string& tag,
                             uint64_t count) noexcept {
  const std::lock_guard lock(mutex_);
  unbook(region, bytes, owner, tag, count);
}

Error DeviceAllocator::deviceRefusal(Region region, size_t bytes) {
  const std::lock_guard lock(mutex_);
  return refusalOf(region, bytes);
}

/** Ledger and counters, of what is within the limit. */
void DeviceAllocator::book(Region region, size_t bytes, Owner owner, const std::string& tag, uint64_t count) {
  ledger_.add(region, owner, tag, bytes, count);
  RegionStatistics& statistics = regions_[static_cast<size_t>(region)];
  statistics.allocatedBytes += bytes;
  statistics.allocatedPeakBytes = std::max(statistics.allocatedPeakBytes, statistics.allocatedBytes);
  statistics.allocations += count;
}

void DeviceAllocator::unbook(Region region, size_t bytes, Owner owner, const std::string& tag,
                             uint64_t count) noexcept {
  RegionStatistics& statistics = regions_[static_cast<size_t>(region)];
  statistics.allocatedBytes -= bytes;
  statistics.frees += count;
  try {
    ledger_.remove(region, owner, tag, bytes, count);
  } catch (const std::exception& error) {
    // A release cannot throw: remember, and let check() say it.
    ++unbalancedFrees_;
    try {
      lastProblem_ = error.what();
    } catch (...) {
      lastProblem_.clear();
    }
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
  for (int index = 0; index < kRegionCount; ++index) {
    const auto region = static_cast<Region>(index);
    const RegionStatistics& statistics = regions_[index];
    const uint64_t live = statistics.allocations - statistics.frees;
    const size_t booked = ledger_.regionBytes(region);
    if (booked == statistics.allocatedBytes && (live == 0) == (booked == 0)) continue;
    throw Error(ErrorCode::kInternal, std::string("region ") + regionName(region) + ": the allocator holds " +
                                          std::to_string(statistics.allocatedBytes) + " bytes in " +
                                          std::to_string(live) + " allocations, the ledger shows " +
                                          std::to_string(booked) + " bytes");
  }
}

}  // namespace octavo
