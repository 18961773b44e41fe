#include "model/ring_shape.h"

#include <algorithm>

#include "memory/pinned_pool.h"

namespace octavo {

namespace {

constexpr size_t kSmallest = size_t{256} << 10;
constexpr size_t kLargest = size_t{8} << 20;

}  // namespace

size_t RingShape::sliceBytes(uint64_t fileBytes, size_t ringLimit) {
  const auto wanted = static_cast<size_t>(std::clamp<uint64_t>(fileBytes / 64, kSmallest, kLargest));
  return PinnedPool::roundedDown(std::min(wanted, ringLimit / 2));
}

RingShape RingShape::of(size_t largestChunk, bool converts, size_t ringLimit) {
  if (largestChunk == 0) return {kMostSlices, 0, false};
  const size_t slice = PinnedPool::rounded(largestChunk);
  const auto slices = std::clamp<size_t>(ringLimit / slice, 2, kMostSlices);
  return {static_cast<int>(slices), slice, converts};
}

}  // namespace octavo
