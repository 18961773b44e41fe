// The product of few rows with a weight in tiles on any card: whole tiles a warp.
//
// A block takes some strips of the weight along all of K, or half of it, and its warps share them in teams: a team
// takes every so many tiles of K, each of its warps up to four strips of them, as the left operand of mma.m16n8k16,
// with the rows of x as its columns. Codes less zeros are exact there; the sums of a tile meet their scale in fp32.
// Each warp fills a ring of its own by asynchronous copies, a tile deep a stage, and shares the team's rows of x
// alone: no barrier is wider than a team until the end of a pass, where the teams' sums are added in order. Strips
// are what blocks are given: shares of bytes differ by little whatever N is. The grouped form walks the strips of the
// experts that have rows, which each block finds for itself.
//
// Bytes: a row of x is read once for every kWarpStrips · teamWarps strips, the codes once for all rows. On Hopper the
// kernel begins, and its ring fills with weights, while the one before still runs. Of 4 bits and bf16 a strip of a tile,
// 1024 codes, takes 44 instructions to become numbers, and with 8, 16, 32 rows 4, 8, 16 products and as many additions
// of scaled sums; copies, waits and addresses take some 125 a tile.
#pragma once

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/quantized/few_codes_plan.h"
#include "cuda/quantized/few_codes_sums.cuh"
#include "cuda/quantized/quantized.h"

namespace octavo::cuda {

template <typename Shape>
struct FewCodesShareOf {
  using Type = FewCodesShare<Shape>;
};
template <int kBits, DType kType, int kRows>
struct FewCodesShareOf<FewCodesShape<kBits, kType, kRows, true>> {
  using Type = FewCodesExpertShare<FewCodesShape<kBits, kType, kRows, true>>;
};

/** Where a warp finds its parts of the stages. */
template <typename Shape>
struct FewCodesRing {
  uint32_t base, x, warp;

  __device__ __forceinline__ FewCodesRing(const FewCodesArguments& a, const FewCodesPlace& place, uint32_t start)
      : base(start), x(place.team * (a.codesAt / place.teams)), warp(a.codesAt + threadIdx.x / 32 * a.warpBytes) {}
  __device__ __forceinline__ void advance(uint32_t& stage, const FewCodesArguments& a) const {
    stage += a.stageBytes;
    if (stage == base + a.stages * a.stageBytes) stage = base;
  }
};

/** Fills all stages but one: weights at once, x when the kernel before has ended. Leaves `stage` at the one left. */
template <typename Shape, typename Share>
__device__ __forceinline__ void beginFeed(FewCodesFeed<Shape, Share>& feed, const FewCodesRing<Shape>& ring,
                                          uint32_t& stage, const FewCodesArguments& a) {
  if constexpr (!Shape::kGrouped) {
    FewCodesFeed<Shape, Share> weights = feed;
    uint32_t to = stage;
    for (int i = 1; i < a.stages && weights.hasNext(); ++i, ring.advance(to, a)) {
      weights.copyWeights(to + ring.warp);
      weights.advance();
    }
    ptx::waitForPredecessors();
  }
  for (int i = 1; i < a.stages; ++i, ring.advance(stage, a)) {
    if (feed.hasNext()) {
      if constexpr (Shape::kGrouped) feed.copyWeights(stage + ring.warp);
      feed.copyX(stage + ring.x);
      feed.advance();
    }
    ptx::commitCopies();
  }
}

/** All passes of a block. kHalves: of groups of 32 columns; kZeros: there may be zeros. */
template <typename Shape, bool kHalves, bool kZeros, typename Share>
__device__ __forceinline__ void runPasses(const FewCodesArguments& a, const Share& share, const FewCodesPlace& place,
                                          FewCodesFeed<Shape, Share>& feed, const FewCodesRing<Shape>& ring,
                                          uint32_t fills, float* memory) {
  uint32_t reads = ring.base;
  for (int unit = share.first;;) {
    const FewCodesPass pass = share.pass(unit);
    if (pass.count == 0) return;
    const FewCodesLane<Shape> lane(a, ring.x, ring.warp, pass.rows);
    int strips = place.strips(pass.count);
    FewCodesSums<Shape> sums = {};
    for (int tile = place.firstTile(); tile < place.last; tile += place.teams) {
      waitForStage(a.stages);
      place.meetTeam();  // the stage has come for the team, and the one before it was read by all of it
      if (feed.hasNext()) {
        feed.copyWeights(fills + ring.warp);
        feed.copyX(fills + ring.x);
        feed.advance();
      }
      ptx::commitCopies();
      ring.advance(fills, a);
      multiplyStage<Shape, kHalves, kZeros>(sums, strips, a, lane, reads);
      ring.advance(reads, a);
    }
    storePass<Shape>(sums, a, share, pass, place, memory);
    unit += pass.count;
  }
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1) fewCodesKernel(const __grid_constant__ FewCodesArguments a) {
  using Share = typename FewCodesShareOf<Shape>::Type;
  extern __shared__ __align__(128) uint8_t bytes[];
  ptx::letSuccessorsBegin();
  if constexpr (Shape::kGrouped) ptx::waitForPredecessors();
  const Share share(a, bytes);
  const FewCodesPlace place(a, Shape::kWarps);
  const FewCodesRing<Shape> ring(a, place, ptx::sharedAddress(bytes));
  FewCodesFeed<Shape, Share> feed(a, share, place);
  uint32_t fills = ring.base;
  beginFeed<Shape>(feed, ring, fills, a);
  auto* memory = reinterpret_cast<float*>(bytes + a.sumsAt);
  const auto run = [&]<bool kHalves, bool kZeros>() {
    runPasses<Shape, kHalves, kZeros>(a, share, place, feed, ring, fills, memory);
  };
  if (a.groupShift < 6) return run.template operator()<true, true>();
  if constexpr (Shape::kIsCommon) {
    if (!a.zeros) return run.template operator()<false, false>();
  }
  run.template operator()<false, true>();
}

template <typename Shape>
void launchFewShape(FewCodesArguments a, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = fewCodesKernel<Shape>;
  const FewCodesPlan plan = planFewCodes(a, FewCodesBounds::of<Shape>(), traits);
  allowSharedMemory<kKernel>(FewCodesPlan::sharedLimit(traits));
  const dim3 blocks(static_cast<unsigned>(plan.blocks)), threads(Shape::kThreads);
  if (traits.architecture >= 90) {
    const auto ranks = static_cast<unsigned>(plan.ranks);
    return launchEarly(kKernel, {blocks, threads, plan.sharedBytes, stream, ranks}, "fewCodes", a);
  }
  kKernel<<<blocks, threads, static_cast<size_t>(plan.sharedBytes), stream>>>(a);
  checkLaunch("fewCodes");
}

/** Of one width of codes; see launchFewCodes. */
template <int kBits>
void launchFewCodesOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                      const ExpertRows& experts, const DeviceTraits& traits, cudaStream_t stream) {
  const FewCodesArguments a = fewCodesArgumentsOf(out, x, weight, bias, experts);
  const auto run = [&]<DType kType>() {
    const int64_t rows = fewCodesRowsOf(x, experts);
    if constexpr (FewCodesShape<kBits, kType, 8, false>::kIsCommon) {
      if (rows <= 8 && experts.count > 0) return launchFewShape<FewCodesShape<kBits, kType, 8, true>>(a, traits, stream);
      if (rows <= 8) return launchFewShape<FewCodesShape<kBits, kType, 8, false>>(a, traits, stream);
    }
    if (experts.count > 0) launchFewShape<FewCodesShape<kBits, kType, 16, true>>(a, traits, stream);
    else if (rows <= 16) launchFewShape<FewCodesShape<kBits, kType, 16, false>>(a, traits, stream);
    else launchFewShape<FewCodesShape<kBits, kType, 32, false>>(a, traits, stream);
  };
  if (x.dtype == DType::kBF16) run.template operator()<DType::kBF16>();
  else run.template operator()<DType::kF16>();
}

}  // namespace octavo::cuda
