// Decode attention at the speed of memory: keys are dealt to multiprocessors, whatever the lengths of the sequences.
//
// A block is a small factory, and its warps have roles: one deals, that is, takes units of items (split_schedule.cuh)
// and hands them with their queries to the others; one feeds, that is, has their slices brought to a ring in shared
// memory; four add slices up, each every fourth one, and never wait for each other; two finish: they fold what the four
// have added, and what other blocks have of the same item, in a fixed order. No second launch, no float atomics, the
// same bits alone and in any batch. Per slice of 16 keys an adder makes Sᵀ = K · Qᵀ and Oᵀ += Vᵀ · Pᵀ with the query
// rows of a KV head's group, and of up to eight tokens, as columns of mma.m16n8k16, so that grouped heads cost nothing
// and single heads little.
//
// Of a cache of codes these become fragments of fp16 as they are read (split_codes.cuh). Items of 32 rows are added by
// eight warps, two a slice (split_ring.cuh).
//
// On Hopper a lane brings keys and values of a slice by one tensor copy (UTMALDG), and slices are added in pairs, so
// that neither waits for its own products; elsewhere, and for dims that are no multiple of 64, all lanes copy.
//
// Measured on an H200, bf16, 32 query and 8 KV heads of 128, shuffled blocks, 2026-12-01, median of replayed graphs, KV
// bytes counted once, where a plain read makes 4.6 to 4.7 TB/s: 64 × 4096 264 µs, 4.07 TB/s; 256 ragged of 256 … 8192
// 4.17; 16 × 4096 3.72; 64 × 1024 3.62; one of 1k 8.8 µs, of 8k 18.2, of 32k 40.9, of 128k 140; dim 64 3.93, dim 256
// 4.08, 32 KV heads 4.10; 4 query tokens 3.83, 8 tokens 3.03; 64 × 4096 of e4m3 3.76, of int8 3.80; as on an A100 4.00.
// With all blocks in the L2 it ran at 7.4 TB/s before: memory is the limit, but for 8 tokens. Chunks dealt singly cost 15 to 20 µs in all as soon as a block takes more than two of
// them, whether as the tail of the batch or all of it, with fences or without: that is not understood. Neither eight
// warps for codes (3.37 TB/s) nor eight pieces folded at once (16 × 4096 3.15) gained. Registers 161 to 255, none spilled
// at 64 and 128 but for 32 rows, where finishers keep their quads in local memory.
#pragma once

#include "cuda/attention/split_deal.cuh"
#include "cuda/attention/split_feed.cuh"
#include "cuda/attention/split_worker.cuh"
#include "cuda/ptx/cluster.cuh"

namespace octavo::cuda::split {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kHasTensorCopies = true;
#else
constexpr bool kHasTensorCopies = false;
#endif

/** kFew: sequences with two to kMostTokens query tokens; else with one. */
template <DType kType, int kDim, int kTiles, typename Source, bool kFew>
__global__ void __launch_bounds__(Source::Shape::kThreads, 1)
    splitKernel(const __grid_constant__ Arguments a, const __grid_constant__ CUtensorMap map) {
  if constexpr (!Source::kTensor || kHasTensorCopies) {  // else never launched
    extern __shared__ uint8_t shared[];
    using Shape = typename Source::Shape;
    const int warp = static_cast<int>(threadIdx.x / 32);
    const bool deals = warp == Shape::kAdders + Shape::kFinishers;
    uint8_t* const aligned = shared + (1024 - ptx::sharedAddress(shared) % 1024) % 1024;
    if (threadIdx.x == 0) {
      if constexpr (kHasTensorCopies && Source::kTensor) ptx::prefetchTensorMap(&map);
      Barriers<Shape>(ptx::sharedAddress(aligned)).init(Source::kArrivals);
    }
    if constexpr (kHasTensorCopies) {
      ptx::waitForPredecessors();
      ptx::letSuccessorsBegin();  // what multiplies the result may ask for its weights
    }
    const int drawn = deals && threadIdx.x % 32 == 0 ? atomicAdd(a.ticket, 1) : 0;
    __syncthreads();
    if (warp < Shape::kAdders) {
      const Scoring scoring{a.scaleLog2, a.variant.cap, a.variant.inverseCap};
      Adder<kType, kDim, kTiles, Source, kFew>{aligned, scoring, a.cache.hasScales(), {}}.run();
    } else if (warp < Shape::kAdders + Shape::kFinishers) Finisher<kType, kDim, kTiles, Source, kFew>{a, aligned}.run();
    else if (deals) Dealer<Shape, kDim, kTiles, kFew>(a, aligned).run(drawn);
    else Feed<Source>(a, &map, aligned).run();
  }
}

}  // namespace octavo::cuda::split
