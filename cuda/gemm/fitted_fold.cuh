// From sums to outputs: where the blocks of a cluster took half of K each, their sums meet.
#pragma once

#include "cuda/gemm/fitted_tile.cuh"
#include "cuda/ptx/shared_memory.cuh"

namespace octavo::cuda::fitted {

template <int kCount>
__device__ __forceinline__ void storeSums(const float (&sums)[kCount], const PairStore& store, int row, int column) {
  int lane = threadIdx.x % 32;
  int64_t firstRow = row + static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4, firstColumn = column + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    int64_t at = firstColumn + i * 8;
    float low = store.biasAt(at), high = store.biasAt(at + 1);
    store.store(firstRow, at, sums[i * 4] + low, sums[i * 4 + 1] + high);
    store.store(firstRow + 8, at, sums[i * 4 + 2] + low, sums[i * 4 + 3] + high);
  }
}

/**
 * The block of rank kRank finishes the half of the columns that has its number: it sends its sums of the other half to
 * the other block, whose thread of the same number has the same elements, and adds what comes. `parity`: of the tile.
 */
template <int kRank, typename T>
__device__ __forceinline__ void foldAndStore(const float (&sums)[T::kSums], const Arguments& a, const Block<T>& block,
                                             int row, int column, uint32_t parity) {
  constexpr int kHalf = T::kSums / 2, kVectorBytes = kWarps * 32 * 16;
  const uint32_t came = block.folded, taken = block.folded + 8, offset = block.fold() + threadIdx.x * 16;
  ptx::waitRemote(taken, parity ^ 1);  // the other block has read the tile before
#pragma unroll
  for (int i = 0; i < kHalf; i += 4) {
    const float* d = sums + (1 - kRank) * kHalf + i;
    ptx::storeRemote(ptx::addressIn(offset + i / 4 * kVectorBytes, kRank ^ 1), __float_as_uint(d[0]),
                     __float_as_uint(d[1]), __float_as_uint(d[2]), __float_as_uint(d[3]));
  }
  ptx::arriveRemote(ptx::addressIn(came, kRank ^ 1));
  ptx::waitRemote(came, parity);
  float kept[kHalf];
#pragma unroll
  for (int i = 0; i < kHalf; i += 4) {
    uint32_t bits[4];
    ptx::loadFourWords(bits[0], bits[1], bits[2], bits[3], offset + i / 4 * kVectorBytes);
#pragma unroll
    for (int j = 0; j < 4; ++j) kept[i + j] = sums[kRank * kHalf + i + j] + __uint_as_float(bits[j]);
  }
  ptx::arriveRemote(ptx::addressIn(taken, kRank ^ 1));
  storeSums(kept, a.store, row, column + kRank * T::kColumns / 2);
}

}  // namespace octavo::cuda::fitted
