// Which KV goes when blocks are wanted: the oldest, and of what is about as old that which empties pages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pages.h"

namespace octavo {

/** kLru: strictly in order of last use. kPageAware: among the next few, those first whose going empties more pages. */
enum class EvictionPolicy : uint8_t { kLru, kPageAware };

/** The blocks of one sequence, in its order: only the last ones may go, so that what stays is a prefix of it. */
using EvictionCandidate = std::span<const BlockId>;

/** So many blocks from the end of a candidate. */
struct Eviction {
  size_t candidate = 0;
  int64_t blocks = 0;
};

struct EvictionPlan {
  std::vector<Eviction> evictions;
  int64_t blocks = 0;
  int64_t pages = 0;  // that no live block will be on
};

/** What evictions have taken since the load. */
struct EvictionReport {
  uint64_t sessions = 0;  // times that one lost some of its KV
  int64_t blocks = 0;
  int64_t tokens = 0;     // to be computed again if they are wanted again
  int64_t pages = 0;      // that no live block was on after it
};

/**
 * Plans, and changes nothing. By age a candidate loses no more than is wanted; page-aware, up to 64 blocks more where
 * that empties more pages a block, and the next 24 candidates, at most half of all, count as about as old.
 * O(pages + candidates), and for each eviction the blocks looked at.
 */
class EvictionPlanner {
 public:
  EvictionPlanner(const BlockPages& pages, EvictionPolicy policy);

  /** Candidates in the order in which they should go; at least `wanted` blocks, or all there are. */
  EvictionPlan plan(const std::vector<EvictionCandidate>& candidates, int64_t wanted);

 private:
  /** So many blocks from the end of a candidate, and the pages that this empties. */
  struct Share {
    int64_t blocks = 0, pages = 0;
    bool isBetterThan(const Share& other) const { return pages * other.blocks > other.pages * blocks; }
  };
  Share shareOf(EvictionCandidate candidate, int64_t wanted);
  void count(EvictionCandidate candidate, int64_t blocks, std::vector<uint32_t>& counts, int change);

  const BlockPages& pages_;
  EvictionPolicy policy_;
  std::vector<uint32_t> gone_;   // by page: blocks that the plan takes
  std::vector<uint32_t> going_;  // and those of the share that is looked at
};

}  // namespace octavo
