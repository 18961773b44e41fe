// The product of few rows with a weight in tiles on Hopper: codes unpacked into the registers of wgmma (sm_90a).
//
// The weight is the left operand: codes less zeros, exact in 16 bits, of 64 of its rows, and the rows of x are the
// columns of wgmma.m64n8 … n32, so that unpacking costs the same whatever their number. The products of a group of
// columns meet their scale in fp32. A block takes 1, 2 or 4 tiles of rows at once, in passes, and its warpgroups what
// NarrowCodesPlan says. One warp fills the ring by large copies: codes and scales of a row of tiles, and all rows of x.
// It begins with the weights while the kernel before still runs, and goes on with the next pass while sums are added:
// warpgroups' and then blocks' in order, each block its part of the outputs.
#pragma once

#include "cuda/device/cuda_check.h"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/ptx/wgmma_left.cuh"
#include "cuda/quantized/few_codes_plan.h"
#include "cuda/quantized/narrow_codes_feed.cuh"
#include "cuda/quantized/narrow_codes_plan.h"
#include "cuda/quantized/narrow_codes_sums.cuh"
#include "cuda/quantized/quantized.h"
#include "cuda/quantized/strip_scales.cuh"

namespace octavo::cuda {

template <int kSums>
__device__ __forceinline__ void addNarrowScaled(float (&sums)[kSums], const float (&parts)[kSums], uint32_t pair,
                                                bool isBf16) {
  float low, high;
  if (isBf16) unpackBf16(pair, low, high);
  else unpackF16(pair, low, high);
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = fmaf(parts[i], i / 2 % 2 ? high : low, sums[i]);
}

/** Two tiles of a stage, `from` the first of them. kSpan: steps of 16 columns that surely share a group: 2, 4 or 8. */
template <typename Shape, int kSpan, bool kZeros>
__device__ __forceinline__ void multiplyNarrow(float (&sums)[Shape::kSums], const NarrowCodesArguments& a,
                                               const NarrowCodesLane<Shape>& lane, uint32_t stage, int firstColumn,
                                               int from) {
  uint32_t left[2][kTileSteps][4];
  float parts[Shape::kSums] = {};
  uint32_t x = __shfl_sync(0xffffffffu, stage + lane.x + from * Shape::kTokenBytes, 0);
  StripGroup<Shape::kBits, Shape::kType> group;
  int firstGroup = firstColumn >> a.groupShift, column = firstColumn + (lane.firstTile + from) * kTileColumns;
  const bool hasZeros = kZeros && a.zeros;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    uint32_t words[Shape::kBits];
    loadWords<Shape::kBits>(words, stage + lane.codes + (from + i) * tileBytes(Shape::kBits));
    uint64_t right = ptx::tileDescriptor(x + i * Shape::kTokenBytes);
#pragma unroll
    for (int step = 0; step < kTileSteps; ++step) {
      int done = i * kTileSteps + step;
      if (done % kSpan == 0) {
        int index = min((column + done * 16) >> a.groupShift, a.groups - 1) - firstGroup;
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

template <typename Shape, int kSpan, bool kZeros>
__device__ __forceinline__ void consumeNarrow(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                              const NarrowCodesShared<Shape>& shared) {
  const NarrowCodesLane<Shape> lane(a);
  NarrowCodesSlot slot;
  uint32_t parity = 0;
  bool isWhole = share.ranks == 1 && a.rowTiles == Shape::kGroups;
  if constexpr (!Shape::kGrouped) ptx::waitForPredecessors();  // whose output this one may be
  for (int unit = share.first; unit < share.units; unit += share.step, parity ^= 1) {
    float sums[Shape::kSums] = {};
    for (int stage = share.begin; stage < share.end; ++stage) {
      uint32_t at = shared.ring + slot.index * a.stageBytes;
      ptx::waitBarrier(shared.full + slot.index * 8, slot.parity);
      for (int pair = 0; pair < a.pairs; ++pair) {
        multiplyNarrow<Shape, kSpan, kZeros>(sums, a, lane, at, stage * a.depth * kTileColumns, pair * 2);
      }
      if (threadIdx.x % 32 == 0) ptx::arrive(shared.empty + slot.index * 8);
      slot.advance(a.ringStages);
    }
    if (isWhole) storeNarrowWhole<Shape>(sums, a, lane, share.pass(unit));
    else addNarrow<Shape>(sums, a, share, lane, unit, parity, shared);
  }
  if (share.ranks == 1) return;
  if (share.first < share.units) ptx::waitRemote(shared.taken, parity ^ 1);  // the other one reads this block's sums
  else ptx::awaitCluster();
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    narrowCodesKernel(const __grid_constant__ NarrowCodesArguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) uint8_t bytes[];
  const NarrowCodesShared<Shape> shared(bytes, a);
  ptx::letSuccessorsBegin();
  if (threadIdx.x == Shape::kConsumers) shared.initBarriers(a.ringStages, static_cast<int>(ptx::clusterSize()));
  if constexpr (Shape::kGrouped) {
    ptx::waitForPredecessors();
    listNarrowExperts<Shape>(shared.experts, a);
  } else {
    __syncthreads();
  }
  const NarrowCodesShare<Shape> share(a, shared.experts);
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
  const int64_t weights = Shape::kGrouped ? std::min<int64_t>(a.experts.count, a.x.rows) : 1;
  const NarrowCodesPlan plan = planNarrowCodes(a, Shape::kTokens, weights, traits.multiprocessors);
  const int sharedBytes = layNarrowCodes<Shape>(a, plan);
  a.xMap = slabMapOf(a.x, Shape::kTokens, a.depth);
  allowSharedMemory<kKernel>(kNarrowSharedBytes);
  const dim3 blocks(static_cast<unsigned>(plan.blocks)), threads(Shape::kThreads);
  launchEarly(kKernel, {blocks, threads, sharedBytes, stream, static_cast<unsigned>(plan.ranks)}, "narrowCodes", a);
}

/** Of one width of codes; see launchNarrowCodes. */
template <int kBits>
void launchNarrowCodesOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         const ExpertRows& experts, const DeviceTraits& traits, cudaStream_t stream) {
  const NarrowCodesArguments a = narrowCodesArgumentsOf(out, x, weight, bias, experts);
  const int64_t rows = fewCodesRowsOf(x, experts);
  const auto run = [&]<DType kType, bool kGrouped>() {
    if constexpr (kGrouped) {
      if (rows <= 8) return launchNarrowShape<NarrowCodesShape<kBits, kType, 8, true>>(a, traits, stream);
    }
    if (rows <= 16) launchNarrowShape<NarrowCodesShape<kBits, kType, 16, kGrouped>>(a, traits, stream);
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
