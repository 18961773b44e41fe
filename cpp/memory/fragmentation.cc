#include "memory/fragmentation.h"

namespace octavo {

namespace {

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Fragmentation fragmentationOf(const MemoryStatistics& statistics) {
  const CounterValue& reserved = statistics.of(Counter::kReservedBytes);
  const CounterValue& active = statistics.of(Counter::kActiveBytes);
  const uint64_t allocated = statistics.of(Counter::kAllocatedBytes).current;
  const uint64_t requested = statistics.of(Counter::kRequestedBytes).current;
  const uint64_t free = reserved.current - active.current;
  Fragmentation fragmentation;
  fragmentation.largestFreeBytes = statistics.largestFreeBytes;
  const uint64_t scattered = free - statistics.largestFreeBytes;
  fragmentation.external = share(scattered, free);
  fragmentation.reservationWaste = share(reserved.peak - active.peak, reserved.peak);
  fragmentation.currentSlack = share(free, reserved.current);
  fragmentation.stuckSlack = share(statistics.of(Counter::kInactiveSplitBytes).current, reserved.current);
  fragmentation.internal = share(allocated - requested, allocated);
  fragmentation.unusableShare = share(scattered, reserved.current);
  return fragmentation;
}

}  // namespace octavo
