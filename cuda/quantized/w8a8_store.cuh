// From sums to outputs: halves of K meet, scales and bias come in, and the result is rounded and stored.
#pragma once

#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/quantized/w8a8_sums.cuh"

namespace octavo::cuda::w8a8 {

/**
 * Adds the other block's half of K. A warpgroup keeps its sums where its number is the block's rank and sends them to
 * its like in the other block where not; true for who keeps.
 */
template <typename S, typename Sum>
__device__ __forceinline__ bool fold(Sum (&sums)[S::kTiles][S::kSums], const Shared<S>& shared, int rank,
                                     const Lane& lane, uint32_t parity) {
  constexpr int kVectors = S::kSums / 4;
  uint32_t offset = (lane.warp * 32 + lane.lane) * 16;
  if (lane.group != rank) {
    uint32_t to = ptx::addressIn(shared.fold, rank ^ 1) + offset;
#pragma unroll
    for (int i = 0; i < S::kTiles * kVectors; ++i) {
      const Sum* d = &sums[i / kVectors][i % kVectors * 4];
      const auto bits = [&](int j) { return __builtin_bit_cast(uint32_t, d[j]); };
      ptx::storeRemote(to + i * 2048, bits(0), bits(1), bits(2), bits(3));
    }
    ptx::arriveRemote(ptx::addressIn(shared.folded, rank ^ 1));
    return false;
  }
  ptx::waitRemote(shared.folded, parity);
#pragma unroll
  for (int i = 0; i < S::kTiles * kVectors; ++i) {
    uint32_t bits[4];
    ptx::loadFourWords(bits[0], bits[1], bits[2], bits[3], shared.fold + offset + i * 2048);
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i / kVectors][i % kVectors * 4 + j] += __builtin_bit_cast(Sum, bits[j]);
  }
  return true;
}

/** Two neighbouring outputs of a row, of a column below `columns`. Rows and their first element may lie anywhere. */
__device__ __forceinline__ void storePair(const Matrix& out, int64_t row, int64_t column, float first, float second) {
  if (column >= out.columns) return;
  const int64_t index = row * out.stride + column;
  uint16_t* const at = static_cast<uint16_t*>(out.data) + index;  // where the output is of 16 bits
  const bool isPair = out.dtype != DType::kF32 && column + 1 < out.columns && reinterpret_cast<uintptr_t>(at) % 4 == 0;
  if (isPair) {
    *reinterpret_cast<uint32_t*>(at) = out.dtype == DType::kBF16 ? packBf16(first, second) : packF16(first, second);
    return;
  }
  storeFloat(out.data, out.dtype, index, first);
  if (column + 1 < out.columns) storeFloat(out.data, out.dtype, index + 1, second);
}

__device__ __forceinline__ void syncGroup(const Lane& lane) {
  if (lane.group == 0) ptx::meet(1, 128);
  else ptx::meet(2, 128);
}

/**
 * Scales and biases of a warpgroup's outputs in shared memory: brought there before the products, while the ring
 * fills, for the memory is slow to answer.
 */
template <typename S, Scaling kScaling>
struct Terms {
  uint32_t columnScales, biases, rowScales;

  __device__ __forceinline__ Terms(const Shared<S>& shared, const Lane& lane)
      : columnScales(shared.terms + lane.group * 1536), biases(columnScales + 512), rowScales(columnScales + 1024) {}

  /** Of the tile's rows and columns from these on. */
  __device__ __forceinline__ void load(const Arguments& a, const Place& place, int firstRow, int firstColumn,
                                       const Lane& lane) const {
    syncGroup(lane);  // the last tile's were read
    int thread = threadIdx.x % 128, column = firstColumn + thread;
    if (thread < S::kGroupColumns && column < a.out.columns) {
      if (kScaling == Scaling::kRow) {
        float scale = loadFloat(a.weightScales.data, a.weightScales.dtype,
                                (place.weightRow - place.column + column) / a.groupRows);
        ptx::storeShared(columnScales + thread * 4, scale);
      }
      if (a.bias.data) ptx::storeShared(biases + thread * 4, loadFloat(a.bias.data, a.bias.dtype, column));
    }
    if (kScaling == Scaling::kRow && thread < S::kGroupRows && firstRow + thread < place.endRow) {
      ptx::storeShared(rowScales + thread * 4, a.xScales[firstRow + thread]);
    }
  }
};

/** 64 rows and up to 64 columns of sums, from `first` on, to values. `column` and rowScales are this lane's. */
template <int kCount, typename S, Scaling kScaling, typename Sum>
__device__ __forceinline__ void finish(float (&values)[kCount], const Sum (&sums)[S::kSums], int first, bool hasBias,
                                       const Terms<S, kScaling>& terms, const float (&rowScales)[2], int column) {
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    float2 scale{1, 1}, bias{0, 0};
    if constexpr (kScaling == Scaling::kRow) scale = ptx::loadSharedPair(terms.columnScales + (column + i * 8) * 4);
    if (hasBias) bias = ptx::loadSharedPair(terms.biases + (column + i * 8) * 4);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float value = static_cast<float>(sums[first + i * 4 + j]);
      if constexpr (kScaling == Scaling::kRow) value = value * rowScales[j / 2] * (j % 2 ? scale.y : scale.x);
      values[i * 4 + j] = hasBias ? value + (j % 2 ? bias.y : bias.x) : value;
    }
  }
}

/** Rounds 64 × 64 values to shared memory and lets the copy engine store them. By a warpgroup. */
__device__ __forceinline__ void storeTile(const float (&values)[32], const Arguments& a, uint32_t out, const Lane& lane,
                                          int row, int column) {
  bool leader = threadIdx.x % 128 == 0, isBf16 = a.out.dtype == DType::kBF16;
  int inner = lane.warp * 16 + (lane.lane & 15);
  if (leader) ptx::waitStoresRead<0>();
  syncGroup(lane);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float* d = values + j * 8;
    uint32_t pairs[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) pairs[k] = isBf16 ? packBf16(d[2 * k], d[2 * k + 1]) : packF16(d[2 * k], d[2 * k + 1]);
    int chunk = 2 * j + (lane.lane >> 4);
    ptx::storeMatrices(out + inner * 128 + ((chunk ^ (inner & 7)) << 4), pairs[0], pairs[1], pairs[2], pairs[3]);
  }
  ptx::fenceForCopies();
  syncGroup(lane);
  if (!leader) return;
  ptx::storeTile(&a.outMap, out, column, row);
  ptx::commitStores();
}

template <typename S, Scaling kScaling, typename Sum>
__device__ __forceinline__ void storeSums(const Sum (&sums)[S::kTiles][S::kSums], const Arguments& a, uint32_t buffer,
                                          const Terms<S, kScaling>& terms, int firstRow, int firstColumn, int endRow,
                                          const Lane& lane) {
  constexpr int kPiece = S::kSums < 32 ? S::kSums : 32;
  syncGroup(lane);  // the terms have come
#pragma unroll
  for (int tile = 0; tile < S::kTiles; ++tile) {
    int row = firstRow + tile * 64;
    if (row >= endRow) break;
    float rowScales[2] = {1, 1};
    if constexpr (kScaling == Scaling::kRow) {
      uint32_t from = terms.rowScales + (tile * 64 + lane.row()) * 4;
      rowScales[0] = ptx::loadShared(from);
      rowScales[1] = ptx::loadShared(from + 32);
    }
#pragma unroll
    for (int piece = 0; piece < S::kSums / kPiece; ++piece) {
      int column = firstColumn + piece * 64;
      if (column >= a.out.columns) break;
      float values[kPiece];
      finish(values, sums[tile], piece * kPiece, a.bias.data != nullptr, terms, rowScales, piece * 64 + lane.column());
      if constexpr (kPiece == 32) {
        if (a.storesTiles && (!S::kGrouped || row + 64 <= endRow)) {  // the rows behind are another expert's
          storeTile(values, a, buffer, lane, row, column);
          continue;
        }
      }
#pragma unroll
      for (int i = 0; i < kPiece / 2; ++i) {
        if (row + lane.row() + i % 2 * 8 >= endRow) continue;
        storePair(a.out, row + lane.row() + i % 2 * 8, column + lane.column() + i / 2 * 8, values[2 * i],
                  values[2 * i + 1]);
      }
    }
  }
}

}  // namespace octavo::cuda::w8a8
