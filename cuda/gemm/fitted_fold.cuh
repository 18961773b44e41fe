// From sums to outputs: where the blocks of a cluster took half of K each, their sums meet.
#pragma once

#include "cuda/gemm/fitted_tile.cuh"
#include "cuda/ptx/shared_memory.cuh"

namespace octavo::cuda::fitted {

/** `isHalf`: the first half of the sums alone. */
template <int kCount>
__device__ __forceinline__ void storeSums(const float (&sums)[kCount], const PairStore& store, int row, int column,
                                          bool isHalf) {
  int lane = threadIdx.x % 32;
  int64_t firstRow = row + static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4, firstColumn = column + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    if (i == kCount / 8 && isHalf) return;
    int64_t at = firstColumn + i * 8;
    float low = store.biasAt(at), high = store.biasAt(at + 1);
    store.store(firstRow, at, sums[i * 4] + low, sums[i * 4 + 1] + high);
    store.store(firstRow + 8, at, sums[i * 4 + 2] + low, sums[i * 4 + 3] + high);
  }
}

/**
 * A block finishes the half of the columns that has its number: it sends its sums of the other half to the other block,
 * whose thread of the same number has the same elements, and adds what comes. The totals are the first half of the sums
 * then. `parity`: of the tile.
 */
template <typename T>
__device__ __forceinline__ void fold(float (&sums)[T::kSums], const Block<T>& block, uint32_t parity) {
  constexpr int kHalf = T::kSums / 2, kVectorBytes = kWarps * 32 * 16;
  const bool isFirst = block.rank == 0;
  const uint32_t other = block.rank ^ 1, came = block.folded, taken = came + 8;
  const uint32_t offset = block.fold() + threadIdx.x * 16;
  ptx::waitRemote(taken, parity ^ 1);  // the other block has read the tile before
#pragma unroll
  for (int i = 0; i < kHalf; i += 4) {
    uint32_t bits[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) bits[j] = __float_as_uint(isFirst ? sums[kHalf + i + j] : sums[i + j]);
    ptx::storeRemote(ptx::addressIn(offset + i / 4 * kVectorBytes, other), bits[0], bits[1], bits[2], bits[3]);
  }
  ptx::arriveRemote(ptx::addressIn(came, other));
  ptx::waitRemote(came, parity);
#pragma unroll
  for (int i = 0; i < kHalf; i += 4) {
    uint32_t bits[4];
    ptx::loadFourWords(bits[0], bits[1], bits[2], bits[3], offset + i / 4 * kVectorBytes);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      sums[i + j] = (isFirst ? sums[i + j] : sums[kHalf + i + j]) + __uint_as_float(bits[j]);
    }
  }
  ptx::arriveRemote(ptx::addressIn(taken, other));
}

}  // namespace octavo::cuda::fitted
