#include "memory/pinned_pool.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <string>

#include "base/error.h"

namespace octavo {

namespace {

constexpr size_t kStepsADoubling = 4;  // as jemalloc's classes

/** The distance of classes around `bytes`, at least the smallest: a quarter of the power of two below it. */
size_t stepAt(size_t bytes) { return std::bit_floor(bytes) / kStepsADoubling; }

[[noreturn]] void fail(const std::string& problem) { throw Error(ErrorCode::kInternal, "pinned pool: " + problem); }

}  // namespace

size_t PinnedPool::rounded(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const size_t step = stepAt(bytes);
  const size_t last = std::numeric_limits<size_t>::max() / step * step;
  return bytes > last ? std::numeric_limits<size_t>::max() : (bytes + step - 1) / step * step;
}

size_t PinnedPool::roundedDown(size_t bytes) {
  const size_t within = std::max(bytes, kSmallest);
  const size_t step = stepAt(within);
  return within / step * step;
}

void PinnedPool::keep(const Buffer& buffer) {
  kept_[buffer.bytes].push_back(buffer.data);
  bytes_ += buffer.bytes;
  ++buffers_;
}

void* PinnedPool::take(size_t bytes) {
  const auto place = kept_.find(bytes);
  if (place == kept_.end()) return nullptr;
  ++reuses_;
  return takeFrom(place).data;
}

PinnedPool::Buffer PinnedPool::takeLargest() {
  return kept_.empty() ? Buffer{} : takeFrom(std::prev(kept_.end()));
}

PinnedPool::Buffer PinnedPool::takeFrom(Kept::iterator place) {
  const Buffer buffer{place->second.back(), place->first};
  place->second.pop_back();
  if (place->second.empty()) kept_.erase(place);
  bytes_ -= buffer.bytes;
  --buffers_;
  return buffer;
}

void PinnedPool::check() const {
  size_t bytes = 0;
  std::set<void*> seen;
  for (const auto& [size, buffers] : kept_) {
    if (rounded(size) != size) fail("buffers of " + std::to_string(size) + " bytes are of no class");
    for (void* const data : buffers) {
      if (!seen.insert(data).second) fail("a buffer of " + std::to_string(size) + " bytes is kept twice");
    }
    bytes += size * buffers.size();
  }
  if (bytes == bytes_ && seen.size() == buffers_) return;
  fail("counts " + std::to_string(bytes_) + " bytes in " + std::to_string(buffers_) + " buffers; it keeps " +
       std::to_string(bytes) + " in " + std::to_string(seen.size()));
}

}  // namespace octavo
