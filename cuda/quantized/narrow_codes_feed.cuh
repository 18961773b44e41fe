// What a block of narrow_codes.cuh works on, how its shared memory is laid out, and the copies that fill it.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/quantized/quantized.h"
#include "cuda/quantized/tile_products.h"
#include "cuda/quantized/tiles.cuh"

namespace octavo::cuda {

struct NarrowCodesArguments {
  CUtensorMap xMap;
  Matrix out, x;
  Vector bias;
  const uint8_t *codes, *scales, *zeros;
  ExpertRows experts;           // of a product of groups
  int32_t tiles, tileRows;      // along K; of 64 rows, of all of the weight or of an expert
  int32_t units, stages;        // of Shape::kRows rows, as tileRows; of Shape::kDepth tiles of K
  int32_t groups, groupShift;   // group = column >> groupShift
  bool isBf16Scale;
};

inline NarrowCodesArguments narrowCodesArgumentsOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight,
                                                   const Vector& bias, const ExpertRows& experts) {
  NarrowCodesArguments a{};
  a.out = out;
  a.x = x;
  a.bias = bias;
  a.codes = static_cast<const uint8_t*>(weight.codes);
  a.scales = static_cast<const uint8_t*>(weight.scales);
  a.zeros = weight.zeros;
  a.experts = experts;
  a.tiles = static_cast<int32_t>(ceilDivide(weight.columns, kTileColumns));
  a.tileRows = static_cast<int32_t>(ceilDivide(out.columns, kTileRows));
  a.groups = static_cast<int32_t>(weight.groups);
  a.groupShift = groupShiftOf(weight);
  a.isBf16Scale = weight.scaleType == DType::kBF16;
  return a;
}

template <int kBits_, DType kType_, int kTokens_, bool kGrouped_>
struct NarrowCodesShape {
  static constexpr int kBits = kBits_, kTokens = kTokens_, kSums = kTokens / 2;
  static constexpr DType kType = kType_;
  static constexpr bool kGrouped = kGrouped_;
  static constexpr int kRowTiles = 2, kRows = kRowTiles * kTileRows, kTeams = 2, kTeamTiles = 2;
  static constexpr int kDepth = kTeams * kTeamTiles, kMostGroups = 2 * kDepth;
  static constexpr int kConsumers = kRowTiles * kTeams * 128, kThreads = kConsumers + 32;
  static constexpr int kXBytes = kDepth * kTokens * 128, kCodesAt = kXBytes;
  static constexpr int kScalesAt = kCodesAt + kRowTiles * kDepth * tileBytes(kBits);
  static constexpr int kZerosAt = kScalesAt + kRowTiles * kMostGroups * kTileRows * 2;
  static constexpr int kStageBytes = kZerosAt + kRowTiles * kMostGroups * kTileRows;
  static constexpr int kSumStride = kRows + 4, kSumBytes = kTeams * kTokens * kSumStride * 4;
  static constexpr int kTableBytes = kGrouped ? kMostFewExperts * 4 : 0;
  static constexpr int kFitting = ((227 << 10) - 1024 - 256 - kSumBytes - kTableBytes) / kStageBytes;  // 1024: to align
  static constexpr int kStages = kFitting < 8 ? kFitting : 8;
  static constexpr int kSharedBytes = 1024 + kStages * kStageBytes + kSumBytes + 2 * (kStages + 1) * 8 + kTableBytes;
  static_assert(kStageBytes % 1024 == 0);
};

template <typename Shape>
struct NarrowCodesShared {
  uint32_t ring, sums, full, empty, placed, taken;
  int* table;  // of experts: where the units of each end


  __device__ __forceinline__ explicit NarrowCodesShared(void* base) {
    ring = (ptx::sharedAddress(base) + 1023) & ~1023u;
    sums = ring + Shape::kStages * Shape::kStageBytes;
    full = sums + Shape::kSumBytes;
    empty = full + Shape::kStages * 8;
    placed = empty + Shape::kStages * 8;
    taken = placed + 8;
    table = reinterpret_cast<int*>(static_cast<uint8_t*>(base) + (taken + 8 - ptx::sharedAddress(base)));
  }
  __device__ __forceinline__ void initBarriers(int ranks) const {
    for (int i = 0; i < Shape::kStages; ++i) {
      ptx::initBarrier(full + i * 8, 1);
      ptx::initBarrier(empty + i * 8, Shape::kConsumers / 32);
    }
    ptx::initBarrier(placed, ranks);
    ptx::initBarrier(taken, ranks);
    ptx::fenceBarriers();
  }
};

template <typename Shape>
struct NarrowCodesSlot {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++index < Shape::kStages) return;
    index = 0;
    parity ^= 1;
  }
};

/** 128 rows of the weight, or 64, from a tile of rows on, and the rows of x that meet them. */
struct NarrowCodesPass {
  int tileRow, tileRows, column;  // column: of the output, where the first row's numbers go
  int row, rows;                  // of x
};

/** Every step-th unit from the first on, and stages [begin, end) of K. */
template <typename Shape>
class NarrowCodesShare {
 public:
  int first, step, units, begin, end, rank, ranks;

  __device__ __forceinline__ NarrowCodesShare(const NarrowCodesArguments& a, const int* table) : a_(a), table_(table) {
    rank = static_cast<int>(ptx::clusterRank());
    ranks = static_cast<int>(ptx::clusterSize());
    first = static_cast<int>(blockIdx.x) / ranks;
    step = static_cast<int>(gridDim.x) / ranks;
    begin = a.stages * rank / ranks;
    end = a.stages * (rank + 1) / ranks;
    units = a.units;
    if constexpr (Shape::kGrouped) units = table[a.experts.count - 1];
  }

  __device__ __forceinline__ NarrowCodesPass pass(int unit) const {
    int within = unit, expert = 0, skipped = 0, rows = static_cast<int>(a_.x.rows), row = 0;
    if constexpr (Shape::kGrouped) {
      expert = expertOf(unit);
      within -= expert ? table_[expert - 1] : 0;
      skipped = within / a_.units * Shape::kTokens;
      within %= a_.units;
      row = a_.experts.first[expert] + skipped;
      rows = min(Shape::kTokens, a_.experts.rows[expert] - skipped);
    }
    int tileRow = within * Shape::kRowTiles;
    return {expert * a_.tileRows + tileRow, min(Shape::kRowTiles, a_.tileRows - tileRow), within * Shape::kRows, row,
            rows};
  }

 private:
  __device__ __forceinline__ int expertOf(int unit) const {
    int expert = 0, above = a_.experts.count - 1;
    while (expert < above) {
      int middle = (expert + above) / 2;
      if (table_[middle] > unit) above = middle;
      else expert = middle + 1;
    }
    return expert;
  }

  const NarrowCodesArguments& a_;
  const int* table_;
};

/** Fills the table of the experts, whose units are passes over their weight, as many as their rows take. All threads. */
template <typename Shape>
__device__ __forceinline__ void listNarrowExperts(int* table, const NarrowCodesArguments& a) {
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int base = 0, before = 0; base < a.experts.count; base += 32) {
      int expert = base + lane, rows = expert < a.experts.count ? a.experts.rows[expert] : 0;
      int ends = (rows + Shape::kTokens - 1) / Shape::kTokens * a.units;
#pragma unroll
      for (int offset = 1; offset < 32; offset *= 2) {
        int below = __shfl_up_sync(0xffffffffu, ends, offset);
        if (lane >= offset) ends += below;
      }
      ends += before;
      if (expert < a.experts.count) table[expert] = ends;
      before = __shfl_sync(0xffffffffu, ends, 31);
    }
  }
  __syncthreads();
}

/** The copies of a share's stages, one after the other. Of the weights and of x apart: weights wait for no kernel. */
template <typename Shape>
class NarrowCodesFeed {
 public:
  __device__ __forceinline__ NarrowCodesFeed(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                             const NarrowCodesShared<Shape>& shared)
      : a_(a), share_(share), shared_(shared), policy_(ptx::evictFirstPolicy()), unit_(share.first),
        stage_(share.begin) {
    if (hasNext()) pass_ = share.pass(unit_);
  }

  __device__ __forceinline__ bool hasNext() const { return unit_ < share_.units && share_.begin < share_.end; }
  __device__ __forceinline__ void awaitSlot() const {
    ptx::waitBarrier(shared_.empty + slot_.index * 8, slot_.parity ^ 1);
  }

  /** Announces all bytes of the stage; a lane a row of tiles copies its codes, scales and zeros. */
  __device__ __forceinline__ void copyWeights() const {
    constexpr int kTile = tileBytes(Shape::kBits);
    int lane = threadIdx.x % 32, rows = pass_.tileRows, tile = stage_ * Shape::kDepth;
    int codeBytes = min(Shape::kDepth, a_.tiles - tile) * kTile;
    int group = tile * kTileColumns >> a_.groupShift;
    int last = min(((tile + Shape::kDepth) * kTileColumns - 1) >> a_.groupShift, a_.groups - 1);
    int scaleBytes = (last + 1 - group) * kTileRows * 2, zeroBytes = a_.zeros ? scaleBytes / 2 : 0;
    uint32_t full = shared_.full + slot_.index * 8, to = shared_.ring + slot_.index * Shape::kStageBytes;
    if (lane == 0) ptx::arriveExpecting(full, Shape::kXBytes + rows * (codeBytes + scaleBytes + zeroBytes));
    __syncwarp();
    if (lane >= rows) return;
    int64_t row = pass_.tileRow + lane, at = (row * a_.groups + group) * kTileRows;
    ptx::loadBytes(to + Shape::kCodesAt + lane * Shape::kDepth * kTile, a_.codes + (row * a_.tiles + tile) * kTile,
                   codeBytes, full, policy_);
    ptx::loadBytes(to + Shape::kScalesAt + lane * Shape::kMostGroups * kTileRows * 2, a_.scales + at * 2, scaleBytes,
                   full, policy_);
    if (zeroBytes == 0) return;
    ptx::loadBytes(to + Shape::kZerosAt + lane * Shape::kMostGroups * kTileRows, a_.zeros + at, zeroBytes, full,
                   policy_);
  }
  __device__ __forceinline__ void copyX() const {
    uint32_t full = shared_.full + slot_.index * 8, to = shared_.ring + slot_.index * Shape::kStageBytes;
    if (threadIdx.x % 32 == 0) ptx::loadTile(to, &a_.xMap, full, 0, pass_.row, stage_ * Shape::kDepth, 0);
  }
  __device__ __forceinline__ void advance() {
    slot_.advance();
    if (++stage_ < share_.end) return;
    stage_ = share_.begin;
    unit_ += share_.step;
    if (hasNext()) pass_ = share_.pass(unit_);
  }

 private:
  const NarrowCodesArguments& a_;
  const NarrowCodesShare<Shape>& share_;
  const NarrowCodesShared<Shape>& shared_;
  uint64_t policy_;
  int unit_, stage_;
  NarrowCodesPass pass_{};
  NarrowCodesSlot<Shape> slot_;
};

template <typename Shape>
__device__ __forceinline__ void produceNarrow(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                              const NarrowCodesShared<Shape>& shared) {
  NarrowCodesFeed<Shape> feed(a, share, shared), weights = feed;
  int ahead = 0;
  for (; ahead < Shape::kStages && weights.hasNext(); ++ahead, weights.advance()) weights.copyWeights();
  ptx::waitForPredecessors();
  for (; feed.hasNext(); feed.advance(), --ahead) {
    if (ahead <= 0) {
      feed.awaitSlot();
      feed.copyWeights();
    }
    feed.copyX();
  }
}

struct NarrowCodesPlan {
  int ranks, clusters;
};

/** As many blocks share K as makes the longest share shortest; a pass costs about a stage more. */
inline NarrowCodesPlan planNarrowCodes(int64_t units, int stages, int multiprocessors) {
  NarrowCodesPlan best{};
  int64_t least = INT64_MAX;
  for (int ranks = 1; ranks <= 8 && ranks <= stages; ranks *= 2) {
    // Clusters of more than two lie in GPCs of 16 or 18 multiprocessors.
    const int room = std::max(1, (ranks > 2 ? multiprocessors / 16 * 16 : multiprocessors) / ranks);
    const int64_t cost = ceilDivide(units, room) * (ceilDivide(stages, ranks) + 1);
    if (cost >= least) continue;
    least = cost;
    best = {ranks, static_cast<int>(std::min<int64_t>(units, room))};
  }
  return best;
}

}  // namespace octavo::cuda
