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
#include "cuda/quantized/tiles.cuh"

namespace octavo::cuda {

struct NarrowCodesArguments {
  CUtensorMap xMap;
  Matrix out, x;
  Vector bias;
  const uint8_t *codes, *scales, *zeros;
  int32_t tiles, tileRows;      // along K, of 64 rows
  int32_t units, stages;        // of Shape::kRows rows, of Shape::kDepth tiles of K
  int32_t groups, groupShift;   // group = column >> groupShift
  bool isBf16Scale;
};

inline NarrowCodesArguments narrowCodesArgumentsOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight,
                                                   const Vector& bias) {
  NarrowCodesArguments a{};
  a.out = out;
  a.x = x;
  a.bias = bias;
  a.codes = static_cast<const uint8_t*>(weight.codes);
  a.scales = static_cast<const uint8_t*>(weight.scales);
  a.zeros = weight.zeros;
  a.tiles = static_cast<int32_t>(ceilDivide(weight.columns, kTileColumns));
  a.tileRows = static_cast<int32_t>(ceilDivide(out.columns, kTileRows));
  a.groups = static_cast<int32_t>(weight.groups);
  a.groupShift = groupShiftOf(weight);
  a.isBf16Scale = weight.scaleType == DType::kBF16;
  return a;
}

template <int kBits_, DType kType_, int kTokens_>
struct NarrowCodesShape {
  static constexpr int kBits = kBits_, kTokens = kTokens_, kSums = kTokens / 2;
  static constexpr DType kType = kType_;
  static constexpr int kRowTiles = 2, kRows = kRowTiles * kTileRows, kTeams = 2, kTeamTiles = 2;
  static constexpr int kDepth = kTeams * kTeamTiles, kMostGroups = 2 * kDepth;
  static constexpr int kConsumers = kRowTiles * kTeams * 128, kThreads = kConsumers + 32;
  static constexpr int kXBytes = kDepth * kTokens * 128, kCodesAt = kXBytes;
  static constexpr int kScalesAt = kCodesAt + kRowTiles * kDepth * tileBytes(kBits);
  static constexpr int kZerosAt = kScalesAt + kRowTiles * kMostGroups * kTileRows * 2;
  static constexpr int kStageBytes = kZerosAt + kRowTiles * kMostGroups * kTileRows;
  static constexpr int kSumStride = kRows + 4, kSumBytes = kTeams * kTokens * kSumStride * 4;
  static constexpr int kFitting = ((227 << 10) - 1024 - 256 - kSumBytes) / kStageBytes;  // 1024: to align
  static constexpr int kStages = kFitting < 8 ? kFitting : 8;
  static constexpr int kSharedBytes = 1024 + kStages * kStageBytes + kSumBytes + 2 * (kStages + 1) * 8;
  static_assert(kStageBytes % 1024 == 0);
};

template <typename Shape>
struct NarrowCodesShared {
  uint32_t ring, sums, full, empty, placed, taken;

  __device__ __forceinline__ explicit NarrowCodesShared(const void* base) {
    ring = (ptx::sharedAddress(base) + 1023) & ~1023u;
    sums = ring + Shape::kStages * Shape::kStageBytes;
    full = sums + Shape::kSumBytes;
    empty = full + Shape::kStages * 8;
    placed = empty + Shape::kStages * 8;
    taken = placed + 8;
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

/** Every step-th unit from the first on, and stages [begin, end) of K. */
template <typename Shape>
struct NarrowCodesShare {
  int first, step, units, begin, end, rank, ranks;

  __device__ __forceinline__ explicit NarrowCodesShare(const NarrowCodesArguments& a) {
    rank = static_cast<int>(ptx::clusterRank());
    ranks = static_cast<int>(ptx::clusterSize());
    first = static_cast<int>(blockIdx.x) / ranks;
    step = static_cast<int>(gridDim.x) / ranks;
    units = a.units;
    begin = a.stages * rank / ranks;
    end = a.stages * (rank + 1) / ranks;
  }
};

/** The copies of a share's stages, one after the other. Of the weights and of x apart: weights wait for no kernel. */
template <typename Shape>
class NarrowCodesFeed {
 public:
  __device__ __forceinline__ NarrowCodesFeed(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                             const NarrowCodesShared<Shape>& shared)
      : a_(a), share_(share), shared_(shared), policy_(ptx::evictFirstPolicy()), unit_(share.first),
        stage_(share.begin) {}

  __device__ __forceinline__ bool hasNext() const { return unit_ < share_.units && share_.begin < share_.end; }
  __device__ __forceinline__ void awaitSlot() const {
    ptx::waitBarrier(shared_.empty + slot_.index * 8, slot_.parity ^ 1);
  }

  /** Announces all bytes of the stage; a lane a row of tiles copies its codes, scales and zeros. */
  __device__ __forceinline__ void copyWeights() const {
    constexpr int kTile = tileBytes(Shape::kBits);
    int lane = threadIdx.x % 32, tileRow = unit_ * Shape::kRowTiles, tile = stage_ * Shape::kDepth;
    int rows = min(Shape::kRowTiles, a_.tileRows - tileRow), codeBytes = min(Shape::kDepth, a_.tiles - tile) * kTile;
    int group = tile * kTileColumns >> a_.groupShift;
    int last = min(((tile + Shape::kDepth) * kTileColumns - 1) >> a_.groupShift, a_.groups - 1);
    int scaleBytes = (last + 1 - group) * kTileRows * 2, zeroBytes = a_.zeros ? scaleBytes / 2 : 0;
    uint32_t full = shared_.full + slot_.index * 8, to = shared_.ring + slot_.index * Shape::kStageBytes;
    if (lane == 0) ptx::arriveExpecting(full, Shape::kXBytes + rows * (codeBytes + scaleBytes + zeroBytes));
    __syncwarp();
    if (lane >= rows) return;
    int64_t row = tileRow + lane, at = (row * a_.groups + group) * kTileRows;
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
    if (threadIdx.x % 32 == 0) ptx::loadTile(to, &a_.xMap, full, 0, 0, stage_ * Shape::kDepth, 0);
  }
  __device__ __forceinline__ void advance() {
    slot_.advance();
    if (++stage_ < share_.end) return;
    stage_ = share_.begin;
    unit_ += share_.step;
  }

 private:
  const NarrowCodesArguments& a_;
  const NarrowCodesShare<Shape>& share_;
  const NarrowCodesShared<Shape>& shared_;
  uint64_t policy_;
  int unit_, stage_;
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
inline NarrowCodesPlan planNarrowCodes(int units, int stages, int multiprocessors) {
  NarrowCodesPlan best{};
  int64_t least = INT64_MAX;
  for (int ranks = 1; ranks <= 8 && ranks <= stages; ranks *= 2) {
    // Clusters of more than two lie in GPCs of 16 or 18 multiprocessors.
    const int room = std::max(1, (ranks > 2 ? multiprocessors / 16 * 16 : multiprocessors) / ranks);
    const int64_t cost = ceilDivide(units, room) * (ceilDivide(stages, ranks) + 1);
    if (cost >= least) continue;
    least = cost;
    best = {ranks, std::min(units, room)};
  }
  return best;
}

}  // namespace octavo::cuda
