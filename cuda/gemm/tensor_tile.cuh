// Tiles of the mma.sync kernels (sm_80 and later): their shapes, how they lie in shared memory and how they come there.
#pragma once

#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::tensor {

constexpr int kRowBytes = 128;  // of K a stage
constexpr int kChunkBytes = 16, kRowChunks = kRowBytes / kChunkBytes;

/** Tile shape; a warp owns (rows / warpRows) × (columns / warpColumns) of it. */
template <int kRows_, int kColumns_, int kWarpRows_, int kWarpColumns_, int kStages_, int kBlocksPerSm_>
struct Tile {
  static constexpr int kRows = kRows_, kColumns = kColumns_;
  static constexpr int kWarpColumns = kWarpColumns_, kStages = kStages_, kBlocksPerSm = kBlocksPerSm_;
  static constexpr int kThreads = kWarpRows_ * kWarpColumns_ * 32;
  static constexpr int kBlocksM = kRows / kWarpRows_ / 16;      // 16-row fragments a warp
  static constexpr int kBlocksN = kColumns / kWarpColumns_ / 8; // 8-column fragments a warp
  static constexpr int kStageBytes = (kRows + kColumns) * kRowBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
};
using SmallTile = Tile<16, 32, 1, 4, 8, 4>;    // up to 16 rows: as many blocks as possible read weights
using NarrowTile = Tile<64, 32, 2, 2, 6, 2>;   // few tiles: short columns for more blocks
using MediumTile = Tile<64, 128, 2, 2, 4, 2>;
using LargeTile = Tile<128, 256, 2, 4, 3, 1>;  // codes only: 64×64 a warp, a fragment serves four products

__device__ __forceinline__ uint32_t swizzled(int row, int chunk) {
  return static_cast<uint32_t>(row * kRowBytes + ((chunk ^ (row & 7)) << 4));
}

/** Rows of `rowBytes` bytes, `stride` bytes apart, both multiples of 16 but for rowBytes of codes. */
struct Rows {
  const uint8_t* data;
  int64_t rows, rowBytes, stride;
};

/** Starts the copy of rows [first, first + kRows) × bytes [depth, depth + kRowBytes); zeros outside. */
template <int kRows, int kThreads>
__device__ __forceinline__ void copyTile(uint32_t to, const Rows& from, int64_t first, int64_t depth) {
  constexpr int kCopies = kRows * kRowChunks;
#pragma unroll
  for (int i = 0; i < (kCopies + kThreads - 1) / kThreads; ++i) {
    int index = i * kThreads + static_cast<int>(threadIdx.x);
    if (kCopies % kThreads != 0 && index >= kCopies) break;
    int row = index / kRowChunks, chunk = index % kRowChunks;
    int64_t byte = depth + chunk * kChunkBytes;
    bool valid = first + row < from.rows && byte < from.rowBytes;
    int64_t offset = valid ? (first + row) * from.stride + byte : 0;
    ptx::copyAsync(to + swizzled(row, chunk), from.data + offset, valid);
  }
}

/** Where a warp of a tile stands. */
template <typename TileShape>
struct WarpPlace {
  int row, column;
  __device__ __forceinline__ WarpPlace() {
    int warp = threadIdx.x / 32;
    row = warp / TileShape::kWarpColumns * TileShape::kBlocksM * 16;
    column = warp % TileShape::kWarpColumns * TileShape::kBlocksN * 8;
  }
};

/**
 * One stage's products into the warp's accumulators, `multiplyAdd(c, a, b0, b1)` for each fragment of 32 bytes of K: a
 * fragment of 16-bit elements and one of 8-bit codes are the same bytes.
 */
template <typename TileShape, typename Sum, typename MultiplyAdd>
__device__ __forceinline__ void multiplyStage(Sum (&sums)[TileShape::kBlocksM][TileShape::kBlocksN][4], uint32_t x,
                                              uint32_t weight, const WarpPlace<TileShape>& place,
                                              const MultiplyAdd& multiplyAdd) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < kRowBytes / 32; ++step) {
    uint32_t a[TileShape::kBlocksM][4];
#pragma unroll
    for (int i = 0; i < TileShape::kBlocksM; ++i) {
      int row = place.row + i * 16 + (lane & 15);
      ptx::loadMatrices(a[i], x + swizzled(row, step * 2 + (lane >> 4)));
    }
    if constexpr (TileShape::kBlocksN == 1) {
      uint32_t b0, b1;
      ptx::loadTwoMatrices(b0, b1, weight + swizzled(place.column + (lane & 7), step * 2 + ((lane >> 3) & 1)));
#pragma unroll
      for (int i = 0; i < TileShape::kBlocksM; ++i) multiplyAdd(sums[i][0], a[i], b0, b1);
    } else {
#pragma unroll
      for (int j = 0; j < TileShape::kBlocksN; j += 2) {
        uint32_t b[4];
        int row = place.column + j * 8 + (lane & 7) + 8 * (lane >> 4);
        ptx::loadMatrices(b, weight + swizzled(row, step * 2 + ((lane >> 3) & 1)));
#pragma unroll
        for (int i = 0; i < TileShape::kBlocksM; ++i) {
          multiplyAdd(sums[i][j], a[i], b[0], b[1]);
          multiplyAdd(sums[i][j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }
}

/** All of K: a ring of stages filled by cp.async while the one before is multiplied. */
template <typename TileShape, typename Sum, typename MultiplyAdd>
__device__ __forceinline__ void multiplyTile(Sum (&sums)[TileShape::kBlocksM][TileShape::kBlocksN][4], uint32_t base,
                                             const Rows& x, const Rows& weight, int64_t firstRow, int64_t firstColumn,
                                             const MultiplyAdd& multiplyAdd) {
  const WarpPlace<TileShape> place;
  int stages = static_cast<int>((weight.rowBytes + kRowBytes - 1) / kRowBytes);
  auto fill = [&](int stage) {
    if (stage < stages) {
      uint32_t to = base + stage % TileShape::kStages * TileShape::kStageBytes;
      int64_t depth = static_cast<int64_t>(stage) * kRowBytes;
      copyTile<TileShape::kRows, TileShape::kThreads>(to, x, firstRow, depth);
      copyTile<TileShape::kColumns, TileShape::kThreads>(to + TileShape::kRows * kRowBytes, weight, firstColumn, depth);
    }
    ptx::commitCopies();  // also when empty, so that the count of groups stays right
  };
#pragma unroll
  for (int stage = 0; stage < TileShape::kStages - 1; ++stage) fill(stage);
  for (int stage = 0; stage < stages; ++stage) {
    ptx::waitCopies<TileShape::kStages - 2>();
    __syncthreads();  // this stage has landed for all, and the slot filled next is read no more
    fill(stage + TileShape::kStages - 1);
    uint32_t from = base + stage % TileShape::kStages * TileShape::kStageBytes;
    multiplyStage<TileShape>(sums, from, from + TileShape::kRows * kRowBytes, place, multiplyAdd);
  }
}

}  // namespace octavo::cuda::tensor
