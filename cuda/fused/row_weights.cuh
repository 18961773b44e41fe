// What a slot of the ring holds of the weight, and how a warp multiplies its share of it.
#pragma once

#include "cuda/fused/row_layout.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::rows {

constexpr int kSlabBytes = 128;  // of a row of the weight, as boxes are swizzled
constexpr int kSlabs = kSlotBytes / kTile / kSlabBytes;

/** The sums of a tile: two sets, for products that follow each other need not wait for each other. */
struct Sums {
  float even[4] = {}, odd[4] = {};
};

/**
 * Rows as checkpoints have them. A slot is four slabs of 128 bytes of 16 rows; where gate and up are multiplied together
 * it is those of eight rows of the gate and then those of eight of up, which become rows 0 … 7 and 8 … 15 of the tile.
 */
template <DType kType>
struct DenseRows {
  static constexpr DType kInput = kType;

  __device__ __forceinline__ static void bring(const Arguments& a, const Cursor& to, int tile, int piece,
                                               uint64_t policy) {
    const int slab = piece * kSlabs;
    if (a.end == ProductEnd::kSwiglu) {
      const int row = tile * (kTile / 2), up = static_cast<int>(a.out.columns) + row;
      ptx::loadTile(to.address(), &a.map, to.full(), 0, row, slab, 0, policy);
      ptx::loadTile(to.address() + kSlotBytes / 2, &a.map, to.full(), 0, up, slab, 0, policy);
    } else {
      ptx::loadTile(to.address(), &a.map, to.full(), 0, tile * kTile, slab, 0, policy);
    }
  }

  /** Where the lane's row of a matrix of eight rows begins, whose 16-byte chunks are XORed by it. */
  uint32_t row, swizzle;

  __device__ __forceinline__ explicit DenseRows(const Arguments& a) {
    const bool gates = a.end == ProductEnd::kSwiglu;
    const int lane = threadIdx.x % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int slabBytes = gates ? kTile / 2 * kSlabBytes : kTile * kSlabBytes;
    const int halfBytes = gates ? kSlotBytes / 2 : kTile / 2 * kSlabBytes;
    row = static_cast<uint32_t>(warp / 2 * slabBytes + lane / 8 % 2 * halfBytes + lane % 8 * kSlabBytes);
    swizzle = static_cast<uint32_t>(lane % 8);
  }

  /** The warp's 64 bytes of each row: two steps. x: those of this lane. */
  __device__ __forceinline__ void multiply(Sums& sums, uint32_t slot, const uint4& x) const {
    const uint32_t chunk = threadIdx.x / 32 % 2 * 4 + threadIdx.x % 32 / 16;
    uint32_t left[4];
    ptx::loadMatrices(left, slot + row + ((chunk ^ swizzle) << 4));
    ptx::multiplyAdd<kType>(sums.even, left, x.x, x.y);
    ptx::loadMatrices(left, slot + row + (((chunk + 2) ^ swizzle) << 4));
    ptx::multiplyAdd<kType>(sums.odd, left, x.z, x.w);
  }
};

}  // namespace octavo::cuda::rows
