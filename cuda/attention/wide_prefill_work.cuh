// What a block of the Hopper prefill kernel works on, and the warps that bring it.
#pragma once

#include <type_traits>

#include "cuda/attention/wide_prefill_codes.cuh"

namespace octavo::cuda::wide {

/** Items are numbered so that late positions, which have the most keys, come first. By a whole warp. */
template <typename S>
class Dealer {
 public:
  __device__ __forceinline__ explicit Dealer(const Arguments& a) : a_(a) {}

  /** The block's next item; false when there is none. */
  __device__ __forceinline__ bool next(PrefillWork& work) {
    for (;;) {
      int item = take();
      if (item >= a_.items) return false;
      int number = (a_.items - 1 - item) / a_.heads;
      if (findPrefillWork<S::kQueries, S::kKeys>(a_.batch, a_.leastQueries, a_.window, number, item % a_.heads, work)) {
        return true;
      }
    }
  }

 private:
  /**
   * The first by the block's number, later ones from a counter that the launch's last take brings back to 0: blocks
   * take a.items times in all. Or in advance, every other round in reverse: that evens out what descends in length.
   */
  __device__ __forceinline__ int take() {
    int block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x), round = round_++;
    if (a_.begun == nullptr) return takeInAdvance(round, block, blocks);
    if (round == 0) return block;
    uint32_t begun = 0;
    if (threadIdx.x % 32 == 0) begun = atomicInc(a_.begun, static_cast<uint32_t>(a_.items - 1));
    return blocks + static_cast<int>(__shfl_sync(0xffffffffu, begun, 0));
  }
  __device__ __forceinline__ int takeInAdvance(int round, int block, int blocks) {
    int item = round * blocks + (round % 2 == 0 ? block : blocks - 1 - block);
    bool isPast = item >= a_.items && round * blocks < a_.items;  // the last round does not have one for every block
    return isPast ? a_.items : item;
  }

  const Arguments& a_;
  int round_ = 0;
};

/**
 * What a lane of a producing warp brings of every tile: one box of the cache. Warps 0 and 2 bring keys, 1 and 3 values:
 * a copy is started a lane after the other, and with blocks of 16 one warp could not keep up. Both arrive at a tile's
 * barrier, also where one has no box of it: else that one could fall two laps behind, and wait for a parity for ever.
 */
template <typename S>
class Feed {
 public:
  __device__ __forceinline__ Feed(const Arguments& a, const Shared<S>& shared) : a_(a), plane_(threadIdx.x / 32 % 2) {
    int share = threadIdx.x % 32 * 2 + threadIdx.x / 64;
    box_ = share / S::kSlabs;
    slab_ = share % S::kSlabs;
    tiles_ = plane_ == 0 ? shared.keys : shared.values;
    full_ = plane_ == 0 ? shared.keysFull : shared.valuesFull;
  }

  /** All tiles of an item, each when its slot is empty. The block's number is looked up a tile ahead. */
  __device__ __forceinline__ void load(const PrefillWork& work) {
    int row = rowOf(work, work.firstTile);
    for (int tile = work.firstTile; tile < work.endTile; ++tile, slot_.advance()) {
      int next = tile + 1 < work.endTile ? rowOf(work, tile + 1) : kNone;
      ptx::waitBarrier(full_ + S::kToEmpty + slot_.index * 8, slot_.parity ^ 1);
      loadTile(row, boxesOf(work, tile), tiles_ + slot_.index * S::kTileBytes, full_ + slot_.index * 8);
      row = next;
    }
  }

 private:
  /** No box of the lane's; one before all rows of the cache, which is brought as zeros. */
  static constexpr int kNone = -1, kUnseen = -256;

  __device__ __forceinline__ int boxesOf(const PrefillWork& work, int tile) const {
    int tokens = min(S::kKeys, work.endKey() - tile * S::kKeys);
    return (tokens + a_.boxTokens - 1) / a_.boxTokens;
  }
  /** The row of the cache at which the lane's box lies. */
  __device__ __forceinline__ int rowOf(const PrefillWork& work, int tile) const {
    if (box_ >= boxesOf(work, tile)) return kNone;
    int token = tile * S::kKeys + box_ * a_.boxTokens;
    if (!work.seesBefore(token + a_.boxTokens, a_.window)) return kUnseen;
    int64_t layer = static_cast<int64_t>(work.blockAt(a_.batch, token / a_.blockSize)) * a_.layers + a_.layer;
    int64_t head = (layer * 2 + plane_) * a_.kvHeads + work.head / a_.groupSize;
    return static_cast<int>(head * a_.blockSize + token % a_.blockSize);
  }
  __device__ __forceinline__ void loadTile(int row, int boxes, uint32_t to, uint32_t full) const {
    int boxBytes = a_.boxTokens * kRowBytes;
    if (threadIdx.x % 32 == 0) {
      if (threadIdx.x < 64) ptx::arriveExpecting(full, static_cast<uint32_t>(boxes * boxBytes * S::kSlabs));
      else ptx::arrive(full);
    }
    __syncwarp();
    if (row == kNone) return;
    ptx::loadTile(to + slab_ * S::kKeySlab + box_ * boxBytes, &a_.cache, full, slab_ * 64, row);
  }

  const Arguments& a_;
  int plane_, box_, slab_;
  uint32_t tiles_, full_;
  Slot<S::kStages> slot_;
};

template <typename S>
using Bringer = std::conditional_t<S::kCoded, CodeFeed<S>, Feed<S>>;

template <typename S>
__device__ __forceinline__ void loadQueries(const Arguments& a, const PrefillWork& work, uint32_t to, uint32_t full) {
  ptx::arriveExpecting(full, S::kQueryBytes);
#pragma unroll
  for (int i = 0; i < S::kGroups * S::kSlabs; ++i) {
    int group = i / S::kSlabs, slab = i % S::kSlabs;
    ptx::loadTile(to + i * S::kQuerySlab, &a.query, full, work.head * S::kDim + slab * 64,
                  work.first + group * kGroupQueries);
  }
}

/** Finds the block's items, tells of them, and brings their queries and its share of their tiles. By warp 0. */
template <typename S>
__device__ __forceinline__ void deal(const Arguments& a, const Shared<S>& shared) {
  Bringer<S> feed(a, shared);
  Dealer<S> dealer(a);
  PrefillWork work;
  for (uint32_t count = 0;; ++count) {
    if (!dealer.next(work)) work.rows = 0;
    ptx::waitBarrier(shared.workEmpty, count % 2 ^ 1);
    if (threadIdx.x == 0) {
      *shared.work = work;
      ptx::arrive(shared.workFull);
    }
    if (work.rows == 0) return;
    const uint32_t stage = count % S::kQueryStages;
    ptx::waitBarrier(shared.queryEmpty + stage * 8, count / S::kQueryStages % 2 ^ 1);
    if (threadIdx.x == 0) {
      loadQueries<S>(a, work, shared.query + stage * S::kQueryBytes, shared.queryFull + stage * 8);
    }
    __syncwarp();
    feed.load(work);
  }
}

/** The block's next item; without rows when there is none. By a whole warp. */
template <typename S>
__device__ __forceinline__ PrefillWork takeWork(const Shared<S>& shared, uint32_t& parity) {
  ptx::waitBarrier(shared.workFull, parity);
  parity ^= 1;
  PrefillWork work = *shared.work;
  ptx::arrive(shared.workEmpty);
  return work;
}

/** Brings a share of the tiles of the block's items. By warps 1 to 3. */
template <typename S>
__device__ __forceinline__ void produce(const Arguments& a, const Shared<S>& shared) {
  Bringer<S> feed(a, shared);
  uint32_t parity = 0;
  for (;;) {
    const PrefillWork work = takeWork<S>(shared, parity);
    if (work.rows == 0) return;
    feed.load(work);
  }
}

}  // namespace octavo::cuda::wide
