#include "memory/statistics_adaptor.h"

#include <algorithm>

namespace octavo {

void* StatisticsAdaptor::allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) {
  void* data = nullptr;
  try {
    data = upstream_.allocate(bytes, stream, owner, tag);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ++counters_.failures;
    throw;
  }
  const std::lock_guard lock(mutex_);
  counters_.bytes += bytes;
  counters_.peakBytes = std::max(counters_.peakBytes, counters_.bytes);
  counters_.totalBytes += bytes;
  ++counters_.allocations;
  counters_.peakAllocations = std::max(counters_.peakAllocations, counters_.allocations);
  ++counters_.totalAllocations;
  return data;
}

void StatisticsAdaptor::deallocate(void* data, size_t bytes, Stream* stream) noexcept {
  upstream_.deallocate(data, bytes, stream);
  const std::lock_guard lock(mutex_);
  counters_.bytes -= bytes;
  --counters_.allocations;
}

ResourceCounters StatisticsAdaptor::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace octavo
