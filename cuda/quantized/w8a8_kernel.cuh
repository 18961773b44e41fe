// The product of 8-bit codes on Hopper: wgmma fed by the tensor memory accelerator (sm_90a).
//
// One thread of the first warpgroup keeps a ring of stages filled, 128 columns of x and weight each; two warpgroups
// multiply. It begins while the kernel before still runs: by the time x has come, a ring of the weight is there.
//
// e4m3: the tensor cores add up 14 bits or so; so the sums of 128 columns (256 in the tile of 256 × 128 with scales of
// rows) are added in fp32, while the next ones are multiplied. What made the difference, N = K = 8192, FP8 blocks:
// two sets of products, 29.1 to 26.4 µs at M = 128; scales of the weight held by lanes and not read a step ahead,
// 23.4; the number of the warpgroup known to be one of the warp, 462 to 440 µs at M = 4096. Clusters that share x gain
// 2 % where a step is 512 columns' work, and lose elsewhere: each step waits for the slower of two blocks.
//
// Measured on an H200, bf16 x and out, cold weights, N = K = 8192, 2026-11-30, replayed graphs, the product alone (with
// the quantisation of x):
//   FP8 channel/token  M = 1 17.7 µs (21.1)  64 18.4 (21.4)  256 28.2 (32.8)  4096 1396 TFLOP/s (1254)
//   FP8 blocks         M = 16 18.6 µs (21.7)  64 18.9 (22.0)  128 21.0 (23.9)  4096 1259 TFLOP/s (1153)
//   INT8               M = 1 17.7 µs (21.0)  64 18.4 (21.6)  4096 1610 TFLOP/s (1410); a plain read 15.9 µs
// Rows of experts, FP8 blocks, 256 experts of N = 4096, K = 7168, the same day: 128 rows each 949 TFLOP/s, 512 rows
// each 1088; 4 rows in each of 64 of them 96 % of the speed of a plain read (88 with tiles of 64 × 128).
// 168 registers at launch, 240 (232) of them then the multiplying threads'; 20 bytes spilled by the loading thread
// of the tile that shares x, none elsewhere.
#pragma once

#include "cuda/quantized/w8a8_feed.cuh"
#include "cuda/quantized/w8a8_store.cuh"

namespace octavo::cuda::w8a8 {

template <typename S, typename Codes, Scaling kScaling>
__device__ __forceinline__ void multiply(const Arguments& a, const Shared<S>& shared, const Work<S>& work) {
  const Lane lane;
  const Terms<S, kScaling> terms(shared, lane);
  Slot<S> slot;
  uint32_t parity = 0;
  ptx::waitForPredecessors();
  Tiles<S> tiles(work);
  for (Place place; tiles.next(place); parity ^= 1) {
    int firstRow = place.row + (S::kAlongRows ? lane.group * S::kGroupRows : 0);
    int firstColumn = place.column + (S::kAlongRows ? 0 : lane.group * S::kGroupColumns);
    terms.load(a, place, firstRow, firstColumn, lane);
    typename Codes::Sum sums[S::kTiles][S::kSums];
    clear(sums);
    if constexpr (__is_same(Codes, ptx::Int8Codes)) {
      sumExact<S>(sums, shared, work, lane, slot);
    } else {
      PromotedSums<S, kScaling> promoted(a, shared, work, place, lane, slot);
      if constexpr (S::kTiles == 1) promoted.run(sums[0], work.steps());
      else promoted.template runTiles<kScaling == Scaling::kRow ? 2 : 1>(sums, work.steps());
    }
    if constexpr (S::kPairing == Pairing::kDepth) {
      if (!fold<S>(sums, shared, work.rank, lane, parity)) continue;
    }
    storeSums<S, kScaling>(sums, a, shared.out + lane.group * 8192, terms, firstRow, firstColumn, place.endRow, lane);
  }
  if (a.storesTiles && threadIdx.x % 128 == 0) ptx::waitStoresRead<0>();
}

template <typename S>
__device__ __forceinline__ void initBarriers(const Shared<S>& shared) {
  constexpr bool kShares = S::kPairing == Pairing::kX || S::kPairing == Pairing::kWeight;
  for (int i = 0; i < S::kStages; ++i) {
    ptx::initBarrier(shared.full + i * 8, 1);
    ptx::initBarrier(shared.empty + i * 8, kGroups * 4 * (kShares ? 2 : 1));
  }
  ptx::initBarrier(shared.folded, 128);
  ptx::fenceBarriers();
}

template <typename S, typename Codes, Scaling kScaling>
__global__ void __launch_bounds__(kThreads, 1) w8a8Kernel(const __grid_constant__ Arguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const Shared<S> shared(bytes);
  const Work<S> work(a);
  if (threadIdx.x == 0) {
    ptx::prefetchTensorMap(&a.weight);
    ptx::prefetchTensorMap(&a.x);
    initBarriers(shared);
  }
  ptx::letSuccessorsBegin();
  if constexpr (S::kBlocks == 1) __syncthreads();
  else ptx::syncCluster();
  if (threadIdx.x < 128) {
    ptx::lowerRegisters<S::kFeedRegisters>();
    if (threadIdx.x < 32 && ptx::electLane()) Feed<S, kScaling>{a, shared, work}.run();
  } else {
    ptx::raiseRegisters<S::kSumRegisters>();
    multiply<S, Codes, kScaling>(a, shared, work);
  }
  // A block must not end while the other may still write to it.
  if constexpr (S::kBlocks > 1) {
    __syncwarp();
    ptx::syncCluster();
  }
#endif
}

}  // namespace octavo::cuda::w8a8
