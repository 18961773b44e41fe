// How many KV blocks requests that run together can come to hold.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pages.h"

namespace octavo {

/** One request's share: the blocks it holds, and how far it may grow. */
struct BlockDemand {
  std::span<const BlockId> table;  // held now
  int64_t tokens = 0;              // prompt and output so far
  int64_t left = 0;                // output to come
  int64_t most = 0;                // blocks in the end: what it was promised
};

/** Counts blocks that several requests hold once. Not thread-safe; one a scheduler, for its scratch memory. */
class DemandPlanner {
 public:
  /** Over a pool of so many blocks of `blockSize` tokens, a power of two. */
  DemandPlanner(int64_t blocks, int32_t blockSize)
      : seen_(static_cast<size_t>(blocks)), shift_(std::countr_zero(static_cast<uint32_t>(blockSize))) {}

  /**
   * The most blocks that the requests hold at any time when each of them gets a token a step until it ends: the bound
   * of LightLLM and S-LoRA, max over k of what the k longest hold when the k-th ends, in whole blocks, shared ones
   * counted once. A prompt counts from the beginning. O(requests² + blocks held).
   */
  int64_t peak(std::vector<BlockDemand> demands);

  /**
   * Orders the demands by what they need to end, the least first (Dijkstra's banker): one after the other they can all
   * end within `capacity` as long as none takes more than `allowance`. O(requests · log requests + blocks held).
   */
  void weigh(const std::vector<BlockDemand>& demands, int64_t capacity);
  /** Blocks that the demand of this index, as given to `weigh`, may take; no limit for the first to end. O(n). */
  int64_t allowance(size_t index) const;
  /** It took so many. O(n). */
  void take(size_t index, int64_t blocks);

 private:
  int64_t countNew(std::span<const BlockId> table);

  std::vector<uint64_t> seen_;   // by block: the round it was counted in; 2³² rounds are some months
  uint64_t round_ = 0;
  int shift_;                    // tokens to blocks
  std::vector<size_t> position_; // by index: its place in the order
  // By place: what is left when it holds all it may, those after it what they hold now, and those before it have ended.
  std::vector<int64_t> spare_;
};

}  // namespace octavo
