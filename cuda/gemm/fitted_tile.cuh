// How the fitted product is cut: its tiles, the ring that feeds them, and who does what in a cluster of two blocks.
#pragma once

#include "cuda/gemm/linear_plan.h"
#include "cuda/gemm/pair_store.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::fitted {

constexpr int kDepth = 64;  // elements of K a slab: rows of 128 bytes
constexpr int kRowBytes = kDepth * 2;
constexpr int kWarps = 4, kThreads = (kWarps + 1) * 32;  // the last warp loads
constexpr int kRingBytes = 216 << 10, kMostStages = 16;
// Rows that x lacks are read from what lies behind, up to a tile of them: their sums are not stored.
constexpr int kBehindBytes = kFittedRows * kRowBytes;
constexpr int kBarriers = 2 * kMostStages + 2;
constexpr int kSharedBytes = 1024 + kRingBytes + kBehindBytes + kBarriers * 8;  // 1024: to align

struct Arguments {
  CUtensorMap x, weight;
  PairStore store;
  int32_t steps, half;                  // stages a tile; those of the first block where K is divided
  int32_t xRows, stages, stageBytes;    // xRows: of a tile in shared memory, a multiple of 8
  int32_t clusterRows, clusterColumns;  // in tiles: one, or two that share an operand
  int32_t parts;                        // of K: blocks of a cluster that divide it
  int32_t rowGroups, columnGroups;      // the output in clusters
};

template <int kColumns_>
struct Tile {
  static constexpr int kColumns = kColumns_;
  static constexpr int kSums = kColumns / 2;                 // a thread
  static constexpr int kSlabs = kColumns <= 64 ? 2 : 1;      // a stage: few bytes a barrier would be slow
  static constexpr int kWeightBytes = kColumns * kRowBytes;  // of a slab
  static constexpr int kFoldBytes = kFittedRows * kColumns / 2 * 4;  // half of the other block's sums
};

/** One block: its place in the cluster, its tiles and its ring. */
template <typename T>
struct Block {
  uint32_t ring, full, empty, folded, rank, ranks;
  int slot = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ Block(const void* base, const Arguments& a)
      : ring((ptx::sharedAddress(base) + 1023) & ~1023u),
        full(ring + kRingBytes + kBehindBytes),
        empty(full + kMostStages * 8),
        folded(empty + kMostStages * 8),
        rank(0),
        ranks(a.clusterRows * a.clusterColumns * a.parts) {
    if (ranks > 1) rank = ptx::clusterRank();
  }
  __device__ __forceinline__ uint32_t x(const Arguments& a, int slab) const {
    return ring + slot * a.stageBytes + slab * a.xRows * kRowBytes;
  }
  __device__ __forceinline__ uint32_t weight(const Arguments& a, int slab) const {
    return x(a, T::kSlabs) + slab * T::kWeightBytes;
  }
  __device__ __forceinline__ uint32_t fold() const { return ring + kRingBytes - T::kFoldBytes; }
  __device__ __forceinline__ void advance(const Arguments& a) {
    if (++slot == a.stages) {
      slot = 0;
      parity ^= 1;
    }
  }

  __device__ __forceinline__ int firstStep(const Arguments& a) const { return a.parts > 1 && rank == 1 ? a.half : 0; }
  __device__ __forceinline__ int endStep(const Arguments& a) const {
    return a.parts > 1 && rank == 0 ? a.half : a.steps;
  }

  /** Calls take(row, column), of the first output, for each tile. */
  template <typename Take>
  __device__ __forceinline__ void forEachTile(const Arguments& a, const Take& take) const {
    int groups = a.rowGroups * a.columnGroups, step = gridDim.x / ranks;
    // Those that are taken at one time read the same columns of the weight.
    for (int group = blockIdx.x / ranks; group < groups; group += step) {
      int row = group % a.rowGroups * a.clusterRows, column = group / a.rowGroups * a.clusterColumns;
      if (a.clusterRows > 1) row += rank;
      if (a.clusterColumns > 1) column += rank;
      take(row * kFittedRows, column * T::kColumns);
    }
  }
};

/** `rows` rows of a slab; where the cluster shares them this block loads its half for both. */
__device__ __forceinline__ void loadSlab(uint32_t to, const CUtensorMap* map, uint32_t full, int depth, int row,
                                         int rows, bool isShared, uint32_t rank) {
  if (!isShared) return ptx::loadTile(to, map, full, depth, row);
  int half = rows / 2 * static_cast<int>(rank);
  ptx::loadTileShared(to + half * kRowBytes, map, full, depth, row + half, 3);
}

/** Keeps the ring filled. One thread. */
template <typename T>
__device__ __forceinline__ void produce(const Arguments& a, const Block<T>& block) {
  Block<T> ring = block;
  block.forEachTile(a, [&](int row, int column) {
    for (int step = block.firstStep(a); step < block.endStep(a); ++step, ring.advance(a)) {
      uint32_t full = ring.full + ring.slot * 8;
      ptx::waitBarrier(ring.empty + ring.slot * 8, ring.parity ^ 1);
      ptx::arriveExpecting(full, a.stageBytes);
#pragma unroll
      for (int slab = 0; slab < T::kSlabs; ++slab) {
        int depth = (step * T::kSlabs + slab) * kDepth;
        loadSlab(ring.weight(a, slab), &a.weight, full, depth, column, T::kColumns, a.clusterRows > 1, ring.rank);
        loadSlab(ring.x(a, slab), &a.x, full, depth, row, a.xRows, a.clusterColumns > 1, ring.rank);
      }
    }
  });
}

/** The slot may be filled again, by every block that fills it. */
template <typename T>
__device__ __forceinline__ void release(const Arguments& a, const Block<T>& ring, int slot) {
  if (threadIdx.x % 32 != 0) return;
  uint32_t empty = ring.empty + slot * 8;
  ptx::arrive(empty);
  if (a.clusterRows * a.clusterColumns > 1) ptx::arriveRemoteUnordered(ptx::addressIn(empty, ring.rank ^ 1));
}

}  // namespace octavo::cuda::fitted
