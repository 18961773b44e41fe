// The product of few rows with a weight in tiles on Hopper: codes unpacked into the registers of wgmma (sm_90a).
//
// The weight is the left operand: codes less zeros, exact in 16 bits, of 64 of its rows, and the rows of x are the
// columns of wgmma.m64n8 … n32, so that unpacking costs the same whatever their number. The products of a group of
// columns meet their scale in fp32. A block takes 128 rows of the weight at once, in passes, and the blocks of a
// cluster share K by stages; of a stage, four tiles of K, two warpgroups take the first half and two the second. One
// warp fills the ring by large copies: codes and scales of a row of tiles, and all rows of x. It begins with the
// weights while the kernel before still runs, and goes on with the next pass while sums are added: warpgroups' and
// blocks' in order, each block its part of the outputs.
#pragma once

#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/cluster_halves.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/wgmma_left.cuh"
#include "cuda/quantized/few_codes_plan.h"
#include "cuda/quantized/narrow_codes_feed.cuh"
#include "cuda/quantized/strip_scales.cuh"

namespace octavo::cuda {

/** Where a consumer's warp stands, and where a lane finds what it multiplies from the start of a stage on. */
template <typename Shape>
struct NarrowCodesLane {
  int team, rowTile;
  uint32_t x, codes, scales, zeros;

  __device__ __forceinline__ NarrowCodesLane() {
    int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);  // known to be a warp's
    int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    team = group / Shape::kRowTiles;
    rowTile = group % Shape::kRowTiles;
    x = team * Shape::kTeamTiles * Shape::kTokens * 128;
    codes = Shape::kCodesAt + (rowTile * Shape::kDepth + team * Shape::kTeamTiles) * tileBytes(Shape::kBits) +
            warp * stripBytes(Shape::kBits) + laneOffset<Shape::kBits>();
    scales = Shape::kScalesAt + rowTile * Shape::kMostGroups * kTileRows * 2 + warp * kStripRows * 2 + lane / 4 * 4;
    zeros = Shape::kZerosAt + rowTile * Shape::kMostGroups * kTileRows + warp * kStripRows + lane / 4 * 2;
    ptx::keep(codes);
    ptx::keep(scales);
    ptx::keep(zeros);
  }
};

template <int kSums>
__device__ __forceinline__ void addNarrowScaled(float (&sums)[kSums], const float (&parts)[kSums], uint32_t pair,
                                                bool isBf16) {
  float low, high;
  if (isBf16) unpackBf16(pair, low, high);
  else unpackF16(pair, low, high);
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = fmaf(parts[i], i / 2 % 2 ? high : low, sums[i]);
}

/** This warpgroup's tiles of a stage. kSpan: steps of 16 columns that surely share a group: 2, 4 or 8. */
template <typename Shape, int kSpan, bool kZeros>
__device__ __forceinline__ void multiplyNarrow(float (&sums)[Shape::kSums], const NarrowCodesArguments& a,
                                               const NarrowCodesLane<Shape>& lane, uint32_t stage, int stageIndex) {
  uint32_t left[Shape::kTeamTiles][kTileSteps][4];
  float parts[Shape::kSums] = {};
  uint32_t x = __shfl_sync(0xffffffffu, stage + lane.x, 0);
  StripGroup<Shape::kBits, Shape::kType> group;
  int firstTile = stageIndex * Shape::kDepth, firstGroup = firstTile * kTileColumns >> a.groupShift;
  const bool hasZeros = kZeros && a.zeros;
#pragma unroll
  for (int i = 0; i < Shape::kTeamTiles; ++i) {
    uint32_t words[Shape::kBits];
    loadWords<Shape::kBits>(words, stage + lane.codes + i * tileBytes(Shape::kBits));
    uint64_t right = ptx::tileDescriptor(x + i * Shape::kTokens * 128);
#pragma unroll
    for (int step = 0; step < kTileSteps; ++step) {
      int done = i * kTileSteps + step;
      if (done % kSpan == 0) {
        int column = (firstTile + lane.team * Shape::kTeamTiles) * kTileColumns + done * 16;
        int index = min(column >> a.groupShift, a.groups - 1) - firstGroup;
        group.load(stage + lane.scales + index * kTileRows * 2, stage + lane.zeros + index * kTileRows, hasZeros);
      }
      toLeft<Shape::kBits, Shape::kType>(left[i][step], words, step, group.offsets);
      if ((done + 1) % kSpan != 0 && step + 1 < kTileSteps) continue;
      constexpr int kSteps = kSpan < kTileSteps ? kSpan : kTileSteps;
      ptx::fenceProducts();
#pragma unroll
      for (int j = step + 1 - kSteps; j <= step; ++j) {
        ptx::multiplyLeft<Shape::kType>(parts, left[i][j], right + 2 * j, (i * kTileSteps + j) % kSpan != 0);
      }
      ptx::commitProducts();
      if ((done + 1) % kSpan != 0) continue;
      ptx::waitProducts<0>();
      ptx::pinRegisters(parts);
      addNarrowScaled(sums, parts, group.scales, a.isBf16Scale);
    }
  }
}

/** Sums of a pass, [team][token][row]: lanes of four tokens meet different banks. */
template <typename Shape>
__device__ __forceinline__ void placeNarrow(const float (&sums)[Shape::kSums], const NarrowCodesLane<Shape>& lane,
                                            uint32_t memory) {
  int within = threadIdx.x % 32, row = lane.rowTile * kTileRows + threadIdx.x / 32 % 4 * kStripRows + within / 4;
  uint32_t mine = memory + ((lane.team * Shape::kTokens + within % 4 * 2) * Shape::kSumStride + row) * 4;
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) {
    ptx::storeShared(mine + ((i / 4 * 8 + i % 2) * Shape::kSumStride + i / 2 % 2 * 8) * 4, sums[i]);
  }
}

/** This block's part of the outputs of a pass: the sums of all blocks and teams, in order. */
template <typename Shape>
__device__ __forceinline__ void storeNarrow(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                            const NarrowCodesPass& pass, uint32_t memory) {
  int all = pass.rows * Shape::kRows;
  int first = static_cast<int>(threadIdx.x) + share.rank * Shape::kConsumers;
  for (int i = first; i < all; i += share.ranks * Shape::kConsumers) {
    int token = i / Shape::kRows, row = i % Shape::kRows, column = pass.column + row;
    if (column >= a.out.columns) continue;
    uint32_t from = memory + (token * Shape::kSumStride + row) * 4;
    float sum = 0;
    for (int rank = 0; rank < share.ranks; ++rank) {
#pragma unroll
      for (int team = 0; team < Shape::kTeams; ++team) {
        sum += ptx::loadRemote(from + team * Shape::kTokens * Shape::kSumStride * 4, rank);
      }
    }
    if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, column);
    storeFloat(a.out.data, a.out.dtype, (pass.row + token) * a.out.stride + column, sum);
  }
}

/** Tells all blocks of the cluster that this block's consumers have come here; kReleases: and what they wrote. */
template <typename Shape, bool kReleases>
__device__ __forceinline__ void tellCluster(uint32_t barrier, const NarrowCodesShare<Shape>& share) {
  ptx::meet(1, Shape::kConsumers);
  int thread = static_cast<int>(threadIdx.x);
  if (thread >= share.ranks) return;
  uint32_t there = ptx::addressIn(barrier, thread);
  if constexpr (kReleases) ptx::arriveRemote(there);
  else ptx::arriveRemoteUnordered(there);
}

template <typename Shape, int kSpan, bool kZeros>
__device__ __forceinline__ void consumeNarrow(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                              const NarrowCodesShared<Shape>& shared) {
  const NarrowCodesLane<Shape> lane;
  NarrowCodesSlot<Shape> slot;
  uint32_t parity = 0;
  if constexpr (!Shape::kGrouped) ptx::waitForPredecessors();  // whose output this one may be
  for (int unit = share.first; unit < share.units; unit += share.step, parity ^= 1) {
    float sums[Shape::kSums] = {};
    for (int stage = share.begin; stage < share.end; ++stage, slot.advance()) {
      ptx::waitBarrier(shared.full + slot.index * 8, slot.parity);
      multiplyNarrow<Shape, kSpan, kZeros>(sums, a, lane, shared.ring + slot.index * Shape::kStageBytes, stage);
      if (threadIdx.x % 32 == 0) ptx::arrive(shared.empty + slot.index * 8);
    }
    if (unit != share.first) ptx::waitRemote(shared.taken, parity ^ 1);
    else if (share.ranks > 1) ptx::awaitCluster();  // barriers of the others are initialised
    placeNarrow<Shape>(sums, lane, shared.sums);
    tellCluster<Shape, true>(shared.placed, share);
    ptx::waitRemote(shared.placed, parity);
    storeNarrow<Shape>(a, share, share.pass(unit), shared.sums);
    tellCluster<Shape, false>(shared.taken, share);
  }
  if (share.first < share.units) ptx::waitRemote(shared.taken, parity ^ 1);  // others read this block's sums
  else if (share.ranks > 1) ptx::awaitCluster();
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1) narrowCodesKernel(const __grid_constant__ NarrowCodesArguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const NarrowCodesShared<Shape> shared(bytes);
  ptx::letSuccessorsBegin();
  if (threadIdx.x == Shape::kConsumers) shared.initBarriers(static_cast<int>(ptx::clusterSize()));
  if constexpr (Shape::kGrouped) {
    ptx::waitForPredecessors();
    listNarrowExperts<Shape>(shared.table, a);
  } else {
    __syncthreads();
  }
  const NarrowCodesShare<Shape> share(a, shared.table);
  if (share.ranks > 1) ptx::arriveCluster();
  if (threadIdx.x >= Shape::kConsumers) {
    produceNarrow<Shape>(a, share, shared);
    __syncwarp();
    if (share.ranks > 1) ptx::awaitCluster();
    return;
  }
  if (a.groupShift < 6) consumeNarrow<Shape, 2, true>(a, share, shared);
  else if (a.groupShift == 6) consumeNarrow<Shape, 4, true>(a, share, shared);
  else if (a.zeros) consumeNarrow<Shape, 8, true>(a, share, shared);
  else consumeNarrow<Shape, 8, false>(a, share, shared);
#endif
}

template <typename Shape>
void launchNarrowShape(NarrowCodesArguments a, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = narrowCodesKernel<Shape>;
  a.xMap = slabMapOf(a.x, Shape::kTokens, Shape::kDepth);
  a.units = static_cast<int32_t>(ceilDivide(a.out.columns, Shape::kRows));
  a.stages = static_cast<int32_t>(ceilDivide(a.x.columns, Shape::kDepth * kTileColumns));
  const int64_t weights = Shape::kGrouped ? std::min<int64_t>(a.experts.count, a.x.rows) : 1;
  const NarrowCodesPlan plan = planNarrowCodes(weights * a.units, a.stages, traits.multiprocessors);
  allowSharedMemory<kKernel>(Shape::kSharedBytes);
  const dim3 blocks(static_cast<unsigned>(plan.clusters * plan.ranks));
  launchEarly(kKernel, {blocks, dim3(Shape::kThreads), Shape::kSharedBytes, stream, static_cast<unsigned>(plan.ranks)},
              "narrowCodes", a);
}

/** Of one width of codes; see launchNarrowCodes. */
template <int kBits>
void launchNarrowCodesOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         const ExpertRows& experts, const DeviceTraits& traits, cudaStream_t stream) {
  const NarrowCodesArguments a = narrowCodesArgumentsOf(out, x, weight, bias, experts);
  const int64_t rows = fewCodesRowsOf(x, experts);
  const auto run = [&]<DType kType, bool kGrouped>() {
    if (rows <= 8) launchNarrowShape<NarrowCodesShape<kBits, kType, 8, kGrouped>>(a, traits, stream);
    else if (rows <= 16) launchNarrowShape<NarrowCodesShape<kBits, kType, 16, kGrouped>>(a, traits, stream);
    else launchNarrowShape<NarrowCodesShape<kBits, kType, 32, kGrouped>>(a, traits, stream);
  };
  if (experts.count > 0) {
    if (x.dtype == DType::kBF16) run.template operator()<DType::kBF16, true>();
    else run.template operator()<DType::kF16, true>();
  } else {
    if (x.dtype == DType::kBF16) run.template operator()<DType::kBF16, false>();
    else run.template operator()<DType::kF16, false>();
  }
}

}  // namespace octavo::cuda
