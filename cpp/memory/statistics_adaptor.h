// Counters over a resource.
#pragma once

#include <mutex>

#include "memory/memory_resource.h"

namespace octavo {

/** Bytes and allocations: now, the most at once, and all that ever were. */
struct ResourceCounters {
  size_t bytes = 0, peakBytes = 0, totalBytes = 0;
  uint64_t allocations = 0, peakAllocations = 0, totalAllocations = 0, failures = 0;
};

class StatisticsAdaptor final : public MemoryResource {
 public:
  explicit StatisticsAdaptor(MemoryResource& upstream) : upstream_(upstream) {}
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;
  ResourceCounters counters() const;

 private:
  MemoryResource& upstream_;
  mutable std::mutex mutex_;
  ResourceCounters counters_;
};

}  // namespace octavo
