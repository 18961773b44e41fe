#include "trace/statistics.h"

namespace octavo::memtrace {

void Statistics::began(Kind kind, uint64_t bytes) {
  auto& figures = of(kind);
  figures.allocations.fetch_add(1, std::memory_order_relaxed);
  figures.totalBytes.fetch_add(bytes, std::memory_order_relaxed);
  figures.count.add(1);
  figures.bytes.add(bytes);
  if (traitsOf(kind).onDevice) deviceBytes.add(bytes);
}

void Statistics::ended(Kind kind, uint64_t bytes) {
  auto& figures = of(kind);
  figures.frees.fetch_add(1, std::memory_order_relaxed);
  figures.count.subtract(1);
  figures.bytes.subtract(bytes);
  if (traitsOf(kind).onDevice) deviceBytes.subtract(bytes);
}

void Statistics::endedWithItsContext(Kind kind, uint64_t bytes) {
  auto& figures = of(kind);
  figures.endedWithContext.fetch_add(1, std::memory_order_relaxed);
  figures.endedWithContextBytes.fetch_add(bytes, std::memory_order_relaxed);
  figures.count.subtract(1);
  figures.bytes.subtract(bytes);
  if (traitsOf(kind).onDevice) deviceBytes.subtract(bytes);
}

}  // namespace octavo::memtrace
