// A product of few rows as a link in a chain of kernels: bound by reading the weight, and by nothing between two links.
//
// A block takes whole tiles of 16 rows of the weight, as many as others. One lane brings them, 8 KB at a time, into a
// ring in shared memory; two teams of eight warps take slots in turn, a warp an eighth, and multiply it with all rows of x
// on the tensor cores (mma.m16n8: up to eight rows cost what one does); one warp finishes tiles. What stands before the
// product is done once a block, in shared memory: the norm of x costs a read of x; what stands behind it, where an output's
// last sum is made.
//
// The chain: a kernel lets the next one begin at once, and its blocks begin where those of this one have ended. So the next
// one's rings are full of weights, which depend on nothing, when the last block ends; what is left between them is the read
// of x from the L2. Bytes: the weight once; x and norm a block.
//
// Ladder (the chain of an 8B model, products alone, H200): by own probe, 2026-11-29, a warp a row 4.03 ms, one persistent
// kernel with a barrier an op 3.71 ms, its bytes alone 3.31 ms. This form with one team that finishes its own tiles,
// 2026-12-01: 3.92 ms; with two teams and a warp that finishes: 3.72, of e4m3 2.35, where that warp waited for scales, which
// it now asks for a tile ahead; of four bits 1.95 with one team, not measured with two.
#pragma once

#include "cuda/fused/row_end.cuh"
#include "cuda/fused/row_input.cuh"
#include "cuda/fused/row_weights.cuh"

namespace octavo::cuda::rows {

/** One lane: this block's tiles, piece by piece, as slots become free. */
template <typename Weights>
__device__ __forceinline__ void bringTiles(const Arguments& a, uint32_t base) {
  Cursor to(base, a.layout);
  const uint64_t policy = ptx::evictFirstPolicy();
  for (int tile = static_cast<int>(blockIdx.x); tile < a.tiles; tile += static_cast<int>(gridDim.x)) {
    for (int piece = 0; piece < a.pieces; ++piece) {
      ptx::waitBarrier(to.empty(), to.phase ^ 1);
      ptx::arriveExpecting(to.full(), static_cast<uint32_t>(a.expected));
      Weights::bring(a, to, tile, piece, policy);
      to.advance();
    }
  }
}

/** A warp's share of the next kSlots slots, of which the first is piece `piece` of a tile. */
template <int kSlots, typename Weights>
__device__ __forceinline__ void multiplySlots(Weights& weights, Sums& sums, Cursor& from, int piece) {
  weights.template prepare<kSlots>(piece);
  uint32_t slots[kSlots], empty[kSlots];
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    ptx::waitBarrier(from.full(), from.phase);
    slots[i] = from.address();
    empty[i] = from.empty();
    from.advance();
  }
  weights.multiply(sums, slots);
  __syncwarp();
  if (threadIdx.x % 32 != 0) return;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) ptx::arrive(empty[i]);
}

template <typename Weights>
__device__ __forceinline__ void multiplyTiles(const Arguments& a, uint8_t* shared, uint32_t base) {
  constexpr int kTogether = Weights::kTogether;
  const int team = static_cast<int>(threadIdx.x) / (32 * kTeamWarps);
  Weights weights(a, shared);
  Cursor from(base, a.layout, team, kTeams);
  const Partials partials(a, shared);
  int ordinal = 0, piece = team;  // of a tile, the team's first
  for (int tile = static_cast<int>(blockIdx.x); tile < a.tiles; tile += static_cast<int>(gridDim.x)) {
    weights.beginTile(tile);
    Sums sums;
#pragma unroll 1
    for (; piece + kTeams * (kTogether - 1) < a.pieces; piece += kTeams * kTogether) {
      multiplySlots<kTogether>(weights, sums, from, piece);
    }
    if constexpr (kTogether > 1) {
#pragma unroll 1
      for (; piece < a.pieces; piece += kTeams) multiplySlots<1>(weights, sums, from, piece);
    }
    piece -= a.pieces;
    const Turn turn(base, a.layout, ordinal++);
    ptx::waitBarrier(turn.free(), turn.phase ^ 1);
    partials.leave<Weights::kSeparates>(sums, turn.turn);
    __syncwarp();
    if (threadIdx.x % 32 == 0) ptx::arrive(turn.full());
  }
}

template <typename Weights>
__global__ void __launch_bounds__(kThreads, 1) rowProductKernel(const __grid_constant__ Arguments a) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ uint8_t unaligned[];
  const uint32_t first = ptx::sharedAddress(unaligned);
  const uint32_t base = (first + kAlignment - 1) / kAlignment * kAlignment;
  uint8_t* const shared = unaligned + (base - first);
  if (threadIdx.x == 0) {
    ptx::letSuccessorsBegin();
    initRing(base, a.layout);
  }
  __syncthreads();
  if (threadIdx.x >= kWorkers + 32) return finishTiles(a, shared, base);
  if (threadIdx.x >= kWorkers) {
    if (threadIdx.x == kWorkers) bringTiles<Weights>(a, base);
    return;
  }
  typename Weights::Input(a, shared).bring();
  meetWorkers();
  multiplyTiles<Weights>(a, shared, base);
#endif
}

}  // namespace octavo::cuda::rows
