// The one owner of memory: regions with limits, every allocation named in the ledger.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "device/device.h"
#include "memory/device_resource.h"
#include "memory/failure_adaptor.h"
#include "memory/ledger.h"
#include "memory/memory_statistics.h"
#include "memory/pinned_pool.h"
#include "memory/retry_adaptor.h"
#include "memory/trace/memory_trace.h"

namespace octavo {

class DeviceAllocator;

/** A live allocation; releasing or destroying it gives the bytes back. Move-only. */
class Allocation {
 public:
  Allocation() = default;
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation() { release(); }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }
  void release() noexcept;

 private:
  friend class DeviceAllocator;
  std::shared_ptr<DeviceAllocator> allocator_;
  void* data_ = nullptr;
  size_t bytes_ = 0;   // as taken from the device (rounded)
  size_t requestedBytes_ = 0;
  LineHandle line_;
};

/** Counters of one region, in PyTorch's words where they exist. */
struct RegionStatistics {
  size_t limitBytes = 0;
  size_t allocatedBytes = 0, allocatedPeakBytes = 0;
  uint64_t allocations = 0, frees = 0, failures = 0;
};

/** Page-locked buffers that were given back and not to the device. */
struct PinnedKept {
  size_t bytes = 0;
  uint64_t buffers = 0;
  uint64_t reuses = 0;  // requests that one of them served, since the start
};

/**
 * Takes memory from a device within limits. Thread-safe. Always held by shared_ptr (allocations keep it).
 * Sizes are rounded up to 512 bytes, those of region pinned to the classes of PinnedPool. Complexity of allocate: the
 * device's own, and tens of nanoseconds where a pinned buffer was kept.
 */
class DeviceAllocator : public std::enable_shared_from_this<DeviceAllocator> {
 public:
  static std::shared_ptr<DeviceAllocator> create(std::shared_ptr<Device> device);
  ~DeviceAllocator();

  /** What `allocate` takes for a request of that many bytes in a region of the device; plans add these. */
  static constexpr size_t rounded(size_t bytes) { return (bytes + 511) / 512 * 512; }
  /** The same in any region. */
  static size_t rounded(Region region, size_t bytes);

  /**
   * A region's ceiling in bytes; the default is unlimited. Lowering below what is held refuses new requests only; kept
   * pinned buffers are given back until the rest fits.
   */
  void setLimit(Region region, size_t bytes);
  /** Throws kOutOfMemory (limit, held, asked; or what the device had free), kInvalidArgument for 0 bytes. */
  Allocation allocate(Region region, size_t bytes, Owner owner, const std::string& tag);

  /**
   * Buffers of region pinned that are given back stay, at most so many bytes of them and within the region's limit, for
   * the next request of their class; 0, as at first: none. In the ledger they are (engine, "pinned.kept"), in the
   * statistics reserved and not active. Whatever is refused for want of them gives them back first. The device must
   * have finished with what is given back, kept or not.
   */
  void keepPinned(size_t mostBytes);
  /** Gives kept buffers back, the largest first, until at most so many bytes are left. Returns the bytes. */
  size_t trimPinned(size_t mostBytes = 0) noexcept;
  PinnedKept pinnedKept() const;

  /**
   * Counts `bytes` in `pieces` against the region's limit and enters them in the ledger without touching the
   * device: the caller takes the memory itself (PageRange does). Throws kOutOfMemory (limit, held, asked).
   */
  void charge(Region region, size_t bytes, Owner owner, const std::string& tag, uint64_t pieces = 1);
  /** Undoes a charge, whole or in part. What the ledger does not hold is remembered for check(). */
  void refund(Region region, size_t bytes, Owner owner, const std::string& tag, uint64_t pieces = 1) noexcept;
  /** Counts a failure; the error that says what was asked of the device and what it has left. */
  Error deviceRefusal(Region region, size_t bytes);
  /** True when `failAfter` chose this allocation; counts one. */
  bool isToldToFail(Region region) { return failure_.pull(region); }

  Ledger& ledger() { return ledger_; }
  MemoryTrace& trace() { return trace_; }
  Device& device() { return *device_; }
  std::shared_ptr<Device> sharedDevice() { return device_; }
  RegionStatistics statistics(Region region) const;
  /** The same and more under PyTorch's names. What is charged in pages counts as allocated; there is no cache. */
  MemoryStatistics memoryStatistics(Region region) const;

  /**
   * Test hook: the n-th allocation from now (1 = next), of one region if one is named, fails as if the device were
   * full; 0 disarms.
   */
  void failAfter(uint64_t allocations, std::optional<Region> only = {}) { failure_.arm(allocations, only); }
  /** Throws kInternal when counters and ledger disagree, or a free ever failed to balance. */
  void check() const;

 private:
  friend class Allocation;
  explicit DeviceAllocator(std::shared_ptr<Device> device);
  void checkLimit(Region region, size_t bytes);
  void count(Region region, size_t bytes, size_t requestedBytes, uint64_t pieces);
  void discount(Region region, size_t bytes, size_t requestedBytes, uint64_t pieces);
  void* takeFromDevice(Region region, size_t bytes, Owner owner, const std::string& tag);
  MemoryResource& sourceOf(Region region);
  Error refused(Region region, const Error& cause);
  void free(void* data, size_t bytes, size_t requestedBytes, const LineHandle& line) noexcept;
  void remember(const std::exception& problem) noexcept;

  // allocator_pinned.cc, under the lock
  bool reusePinned(Allocation& allocation, size_t bytes);
  bool keepBuffer(void* data, size_t bytes, size_t requestedBytes, const LineHandle& line) noexcept;
  void makePinnedRoom(size_t bytes) noexcept;
  bool retryPinned() noexcept;
  size_t giveKeptBack(size_t mostBytes) noexcept;
  void countPinned(size_t bytes, size_t requestedBytes, bool reused);

  std::shared_ptr<Device> device_;
  DeviceResource deviceMemory_, pinnedMemory_;
  RetryAdaptor pinnedSource_;  // without what is kept, when the device refuses
  FailureTrigger failure_;
  MemoryTrace trace_;
  Ledger ledger_;
  LineHandle keptLine_;
  PinnedPool pinnedPool_;
  mutable std::mutex mutex_;
  std::array<RegionStatistics, kRegionCount> regions_;
  std::array<MemoryStatistics, kRegionCount> memory_;
  uint64_t unbalancedFrees_ = 0;
  std::string lastProblem_;
};

}  // namespace octavo
