// The product of few rows with a weight in tiles on Hopper, whose codes come by large copies (sm_90a).
//
// A block takes whole rows of tiles, in passes along all of K, and the copy engine fills a ring of stages: one copy
// brings the codes of a stage, kTeams · kTurns tiles along K, one their scales, and one each row of x. The engine starts
// a copy in some 75 cycles whatever its size: small ones would bound the kernel. A team of warps multiplies one of
// those tiles, two strips a warp, as the left operand of mma.m16n8k16, with the rows of x as its columns: codes less
// zeros are exact there, and the sums of a tile meet their scale in fp32. At the end of a pass the teams' sums are
// added in order. With few rows of tiles two blocks in a cluster take half of K each.
//
// Measured on an H200, bf16, 4 bits in groups of 128, cold weights, 2026-11-30, µs in replayed graphs with 1, 8 and 16
// rows: 8192 × 8192 14.0, 15.0, 18.4; 28672 × 4096 25.8, 27.7, 32.7; 4096 × 14336 13.6, 14.3, 16.5; 4096 × 4096 7.5,
// 8.4, 8.9. Registers: 72 to 105, none spilled. 95 to 100 instructions a strip of a tile, and a block's barrier a stage.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/shared_memory.h"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/quantized/quantized.h"
#include "cuda/quantized/skinny_tile.cuh"

namespace octavo::cuda {

template <int kBits_, DType kType_, int kRows_>
struct BulkCodesShape {
  static constexpr int kBits = kBits_, kRows = kRows_;
  static constexpr DType kType = kType_;
  static constexpr int kWarps = 16, kThreads = kWarps * 32, kTeams = 8, kTeamWarps = kWarps / kTeams;
  static constexpr int kTurns = kBits == 8 ? 1 : 2, kDepthTiles = kTeams * kTurns;
  static constexpr int kWarpStrips = 2, kStrips = kTeamWarps * kWarpStrips;
  static constexpr int kXRowBytes = kDepthTiles * 128 + 16;             // rows meet different banks
  static constexpr int kCodeOffset = (kRows * kXRowBytes + 127) / 128 * 128;
  static constexpr int kScaleOffset = kCodeOffset + kDepthTiles * tileBytes(kBits);
  static constexpr int kGroupBytes = kDepthTiles * 2 * kTileRows;       // zeros of a stage, at most; scales: twice that
  static constexpr int kZeroOffset = kScaleOffset + 2 * kGroupBytes;
  static constexpr int kStageBytes = kZeroOffset + kGroupBytes;
  static constexpr int kSumStride = kStrips * kStripRows + 4;           // lanes of four rows meet different banks
  static constexpr int kSumBytes = kTeams * kRows * kSumStride * 4;
  static constexpr int kFitting = ((227 << 10) - kSumBytes - 128) / kStageBytes;
  static constexpr int kStages = kFitting < 8 ? kFitting : 8;
  static constexpr int kSharedBytes = kStages * kStageBytes + kSumBytes + kStages * 8;
};

/** The copies that fill the ring, a stage a call, through all passes of a share. Called by all warps. */
template <typename Shape>
class BulkFeed {
 public:
  __device__ __forceinline__ BulkFeed(const SkinnyCodesArguments& a, const SkinnyShare& share)
      : a_(a), share_(share), tileRow_(share.first / kTileStrips), tile_(share.begin), policy_(ptx::evictFirstPolicy()) {}

  __device__ __forceinline__ void next(uint32_t stage, uint32_t full) {
    if (tileRow_ * kTileStrips >= share_.end) return;
    int count = min(Shape::kDepthTiles, share_.last - tile_);
    if (ptx::electLane()) copy(stage, full, count);
    if (tile_ + count == a_.tiles) clearTail(stage);
    tile_ += count;
    if (tile_ < share_.last) return;
    tile_ = share_.begin;
    ++tileRow_;
  }

 private:
  /** Warp m brings row m of x; the first one also the codes, and announces all bytes. */
  __device__ __forceinline__ void copy(uint32_t stage, uint32_t full, int count) {
    constexpr int kTile = tileBytes(Shape::kBits);
    int warp = threadIdx.x / 32, rows = static_cast<int>(a_.x.rows), column = tile_ * kTileColumns;
    int rowBytes = min(count * kTileColumns, static_cast<int>(a_.x.columns) - column) * 2;
    if (warp == 0) {
      int group = column >> a_.groupShift;
      int groups = min(((tile_ + count) * kTileColumns - 1) >> a_.groupShift, a_.groups - 1) - group + 1;
      int scaleBytes = groups * kTileRows * 2;
      int64_t at = (static_cast<int64_t>(tileRow_) * a_.groups + group) * kTileRows;
      ptx::arriveExpecting(full, count * kTile + scaleBytes + (a_.zeros ? scaleBytes / 2 : 0) + rows * rowBytes);
      ptx::loadBytes(stage + Shape::kCodeOffset, a_.codes + (static_cast<int64_t>(tileRow_) * a_.tiles + tile_) * kTile,
                     count * kTile, full, policy_);
      ptx::loadBytes(stage + Shape::kScaleOffset, a_.scales + at * 2, scaleBytes, full, policy_);
      if (a_.zeros) ptx::loadBytes(stage + Shape::kZeroOffset, a_.zeros + at, scaleBytes / 2, full, policy_);
    }
    if (warp >= rows) return;
    const char* from = static_cast<const char*>(a_.x.data) + (warp * a_.x.stride + column) * 2;
    ptx::loadBytes(stage + warp * Shape::kXRowBytes, from, rowBytes, full);
  }

  /** Codes after the last column must meet zeros. */
  __device__ __forceinline__ void clearTail(uint32_t stage) {
    int column = static_cast<int>(a_.x.columns) - tile_ * kTileColumns;
    int chunks = (-column & (kTileColumns - 1)) / kChunk;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp >= static_cast<int>(a_.x.rows) || lane >= chunks) return;
    ptx::storeZeros(stage + warp * Shape::kXRowBytes + column * 2 + lane * 16);
    ptx::fenceForCopies();  // the copy that fills this stage next comes after the zeros
  }

  const SkinnyCodesArguments& a_;
  const SkinnyShare& share_;
  int tileRow_, tile_;
  uint64_t policy_;
};

template <typename Shape>
__device__ __forceinline__ SkinnyLane<Shape> bulkLane(int team, int strip, int rows) {
  SkinnyLane<Shape> found;
  int lane = threadIdx.x % 32, row = Shape::kRows == 8 ? lane & 7 : (lane & 7) + (lane >> 4) * 8;
  int chunk = Shape::kRows == 8 ? lane >> 3 : lane >> 3 & 1;
#pragma unroll
  for (int i = 0; i < found.kXs; ++i) {
    found.x[i] = min(row, rows - 1) * Shape::kXRowBytes + team * 128 + (i * (kTileSteps / found.kXs) * 2 + chunk) * 16;
    ptx::keep(found.x[i]);
  }
  found.codes = Shape::kCodeOffset + team * tileBytes(Shape::kBits) + strip * stripBytes(Shape::kBits) +
                laneOffset<Shape::kBits>();
  int slot = strip * kStripRows + lane / 4 * 2;
  found.scales = Shape::kScaleOffset + slot * 2;
  found.zeros = Shape::kZeroOffset + slot;
  ptx::keep(found.codes);
  ptx::keep(found.scales);
  ptx::keep(found.zeros);
  return found;
}

template <typename Shape>
struct BulkRing {
  uint32_t stages, full;
  int reads = 0, fills = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ explicit BulkRing(uint32_t base)
      : stages(base), full(base + Shape::kStages * Shape::kStageBytes + Shape::kSumBytes) {}
  __device__ __forceinline__ void fill(BulkFeed<Shape>& feed) {
    feed.next(stages + fills * Shape::kStageBytes, full + fills * 8);
    if (++fills == Shape::kStages) fills = 0;
  }
  __device__ __forceinline__ uint32_t await() const {
    ptx::waitBarrier(full + reads * 8, parity);
    return stages + reads * Shape::kStageBytes;
  }
  __device__ __forceinline__ void advance() {
    if (++reads < Shape::kStages) return;
    reads = 0;
    parity ^= 1;
  }
};

/** The sums of this warp's strips over all stages of a row of tiles. */
template <typename Shape>
__device__ __forceinline__ void multiplyBulk(float (&sums)[Shape::kWarpStrips][Shape::kRows / 8][4],
                                             const SkinnyCodesArguments& a, const SkinnyShare& share,
                                             const SkinnyLane<Shape>& lane, BulkRing<Shape>& ring,
                                             BulkFeed<Shape>& feed) {
  bool hasZeros = a.zeros != nullptr;
  int team = threadIdx.x / 32 / Shape::kTeamWarps;
  for (int first = share.begin; first < share.last; first += Shape::kDepthTiles) {
    uint32_t stage = ring.await();
    __syncthreads();  // the stage before this one was read by all
    ring.fill(feed);
    int firstGroup = first * kTileColumns >> a.groupShift;
#pragma unroll
    for (int turn = 0; turn < Shape::kTurns; ++turn) {
      int tile = first + turn * Shape::kTeams + team;
      if (tile >= share.last) break;
      SkinnyLane<Shape> there = lane;
#pragma unroll
      for (uint32_t& x : there.x) x += turn * Shape::kTeams * 128;
      there.codes += turn * Shape::kTeams * tileBytes(Shape::kBits);
      int group = tile * kTileColumns >> a.groupShift;
      if (a.groupShift >= 6) {
        multiplyTile<Shape, false>(sums, a, there, stage, group - firstGroup, 0, hasZeros);
      } else {
        int next = min(group + 1, a.groups - 1) - firstGroup;
        multiplyTile<Shape, true>(sums, a, there, stage, group - firstGroup, next, hasZeros);
      }
    }
    ring.advance();
  }
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1) bulkCodesKernel(const __grid_constant__ SkinnyCodesArguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(128) uint8_t bytes[];
  BulkRing<Shape> ring(ptx::sharedAddress(bytes));
  const SkinnyShare share(a);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::kStages; ++i) ptx::initBarrier(ring.full + i * 8, 1);
    ptx::fenceBarriers();
  }
  __syncthreads();
  BulkFeed<Shape> feed(a, share);
#pragma unroll 1
  for (int i = 0; i < Shape::kStages - 1; ++i) ring.fill(feed);
  int warp = threadIdx.x / 32;
  const SkinnyLane<Shape> lane = bulkLane<Shape>(
      warp / Shape::kTeamWarps, warp % Shape::kTeamWarps * Shape::kWarpStrips, static_cast<int>(a.x.rows));
  for (SkinnyPass<Shape> pass(share, share.first); pass.from < share.end; pass = SkinnyPass<Shape>(share, pass.to)) {
    float totals[Shape::kWarpStrips][Shape::kRows / 8][4] = {};
    multiplyBulk<Shape>(totals, a, share, lane, ring, feed);
    storeSkinny<Shape>(totals, a, share, pass, reinterpret_cast<float*>(bytes + Shape::kStages * Shape::kStageBytes));
  }
#endif
}

template <typename Shape>
void launchBulkShape(SkinnyCodesArguments a, int multiprocessors, cudaStream_t stream) {
  constexpr auto kKernel = bulkCodesKernel<Shape>;
  const int tileRows = static_cast<int>(ceilDivide(a.strips, kTileStrips));
  // Two blocks share K where one each would leave half of the card idle.
  const int ranks = tileRows * 2 <= multiprocessors && a.tiles > 1 ? 2 : 1;
  a.blockStrips = static_cast<int32_t>(ceilDivide(tileRows, multiprocessors / ranks)) * kTileStrips;
  allowSharedMemory<kKernel>(Shape::kSharedBytes);
  cudaLaunchConfig_t launch{};
  launch.gridDim = static_cast<unsigned>(ceilDivide(a.strips, a.blockStrips) * ranks);
  launch.blockDim = Shape::kThreads;
  launch.dynamicSmemBytes = Shape::kSharedBytes;
  launch.stream = stream;
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(ranks), 1, 1};
  launch.attrs = &cluster;
  launch.numAttrs = 1;
  check(cudaLaunchKernelEx(&launch, kKernel, a), "the launch of bulkCodes");
}

/** Of one width of codes; see launchBulkCodes. */
template <int kBits>
void launchBulkCodesOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                       int multiprocessors, cudaStream_t stream) {
  const SkinnyCodesArguments a = skinnyArgumentsOf(out, x, weight, bias);
  const auto run = [&]<DType kType>() {
    if (x.rows <= 8) launchBulkShape<BulkCodesShape<kBits, kType, 8>>(a, multiprocessors, stream);
    else launchBulkShape<BulkCodesShape<kBits, kType, 16>>(a, multiprocessors, stream);
  };
  if (x.dtype == DType::kBF16) run.template operator()<DType::kBF16>();
  else run.template operator()<DType::kF16>();
}

}  // namespace octavo::cuda
