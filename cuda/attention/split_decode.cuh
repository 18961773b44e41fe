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
// On Hopper one lane brings keys and values of a slice by one tensor copy (UTMALDG), and slices are added in pairs,
// so that neither waits for its own products; elsewhere, and for dims that are no multiple of 64, all lanes copy.
//
// Measured on an H200, bf16, 32 query and 8 KV heads of 128, shuffled blocks, 2026-11-30, median of replayed graphs, KV
// bytes counted once (before: warps that fed, added and folded for themselves, dealt in advance): 64 × 4096 268 µs,
// 4.00 TB/s (3.84); 256 ragged of 256 … 8192 4.10 (4.09); 16 × 4096 3.52 (3.11); 64 × 1024 3.33 (3.07); one of 1k 8.9
// µs (12.6), of 8k 17.2 (24.7), of 32k 40.4 (57.8), of 128k 144 (157); one of 128k with 63 of 1k against the same bytes
// even 1.08 (1.13); dim 64 3.82 (3.45), dim 256 4.10 (3.79), 32 KV heads 4.03 (3.87); 4 query tokens 3.71 (1.11), 8
// tokens 2.45 (1.06), then by four warps of 32 rows each. With all blocks in the L2 the same runs at 7.4 TB/s: memory is
// the limit, but for 8 tokens (2.5: the products of 32 rows). Chunks dealt singly when there are many lose a third: a
// unit costs its block about 2 µs of dealing and feeding. None of this has been measured since the last sequences are
// dealt by chunks. Registers 161 to 255, none spilled at 64 and 128 but for 32 rows, where the warps that finish spill 96
// and 608 bytes.
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
