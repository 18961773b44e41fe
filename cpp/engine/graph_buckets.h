// For which batch sizes decode steps are captured.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace octavo {

/**
 * Sizes in ascending order, the last one `most`: a step runs in the smallest that holds it, and what is padded is less
 * than the step's own size, less than half of it from 16 sequences on and less than a quarter from 64 on.
 */
inline std::vector<int32_t> graphBuckets(int32_t most) {
  std::vector<int32_t> buckets;
  for (int32_t size = 1; size < most;) {
    buckets.push_back(size);
    size += size < 16 ? size : size < 32 ? 8 : size < 128 ? 16 : size < 256 ? 32 : 64;
  }
  if (most > 0) buckets.push_back(most);
  return buckets;
}

/** The place of the smallest bucket that holds `size`; as many as there are where none does. */
inline size_t bucketFor(const std::vector<int32_t>& buckets, int64_t size) {
  return static_cast<size_t>(std::lower_bound(buckets.begin(), buckets.end(), size) - buckets.begin());
}

}  // namespace octavo
