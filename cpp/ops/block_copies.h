// Whole blocks of a cache that move, or go to another cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octavo {

struct BlockCopy {
  int32_t from = 0, to = 0;
};

/**
 * Block copies[i].from of one cache becomes block copies[i].to of another, or of the same. They happen in any order or
 * all at once: no block of a cache is written twice, or written and read. `copies` is host memory, read before the call
 * returns.
 */
struct BlockCopies {
  void* to = nullptr;
  const void* from = nullptr;
  size_t blockBytes = 0;
  const BlockCopy* copies = nullptr;
  int64_t count = 0;
};

/** Whether a copy within the cache of others may happen before, after or beside all of them. O(copies). */
inline bool isApart(const std::vector<BlockCopy>& copies, const BlockCopy& next) {
  for (const BlockCopy& copy : copies) {
    if (copy.to == next.to || copy.to == next.from || copy.from == next.to) return false;
  }
  return true;
}

}  // namespace octavo
