// What a slot of the ring holds of a weight of numbers, and how a warp multiplies its share of it.
//
// A form of weight has: Input, which brings x; bring, which asks for a slot; prepare, which a warp calls before it waits for
// slots, and multiply, which it calls then. It takes kTogether slots at once, so that its waits for shared memory and for
// products overlap: by one team, one at a time, a slot of e4m3 took 200 ns, and memory brings one every 240.
#pragma once

#include "cuda/fused/row_input.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::rows {

constexpr int kSlabBytes = 128;  // of a row of the weight, as boxes are swizzled
constexpr int kSlabs = kSlotBytes / kTile / kSlabBytes;

/** The sums of a tile: two sets, so that products which follow each other need not wait for each other. */
struct Sums {
  float even[4] = {}, odd[4] = {};
};

/** Of a team. */
__device__ __forceinline__ int teamWarp() { return static_cast<int>(threadIdx.x) / 32 % kTeamWarps; }

/** x for this lane's share of a step of 64 bytes; zeros where there is no such row. */
__device__ __forceinline__ uint4 inputOf(const uint4* input, int step, int rows) {
  const int lane = threadIdx.x % 32;
  if (lane / 4 >= rows) return make_uint4(0, 0, 0, 0);
  return input[step * rows * 4 + lane];
}

/** Where a lane's row of a matrix of eight rows lies in a slot, and its 16-byte chunks, which are XORed by it. */
struct SlabRow {
  uint32_t row, chunk, swizzle;

  __device__ __forceinline__ explicit SlabRow(const Arguments& a) {
    const bool gates = a.end == ProductEnd::kSwiglu;
    const int lane = threadIdx.x % 32, warp = teamWarp();
    const int slabBytes = gates ? kTile / 2 * kSlabBytes : kTile * kSlabBytes;
    const int halfBytes = gates ? kSlotBytes / 2 : kTile / 2 * kSlabBytes;
    row = static_cast<uint32_t>(warp / 2 * slabBytes + lane / 8 % 2 * halfBytes + lane % 8 * kSlabBytes);
    chunk = static_cast<uint32_t>(warp % 2 * 4 + lane / 16);
    swizzle = static_cast<uint32_t>(lane % 8);
  }

  /** The left operand of one of the two steps that are the warp's share of a slot. */
  __device__ __forceinline__ void load(uint32_t (&left)[4], uint32_t slot, int step) const {
    ptx::loadMatrices(left, slot + row + (((chunk + 2 * step) ^ swizzle) << 4));
  }
};

/** Four slabs of 128 bytes of 16 rows; or of eight rows of the gate, which become rows 0 … 7, and of eight of up. */
__device__ __forceinline__ void bringSlabs(const Arguments& a, const Cursor& to, int tile, int piece, uint64_t policy) {
  const int slab = piece * kSlabs;
  if (a.end == ProductEnd::kSwiglu) {
    const int row = tile * (kTile / 2), up = static_cast<int>(a.out.columns) + row;
    ptx::loadTile(to.address(), &a.map, to.full(), 0, row, slab, 0, policy);
    ptx::loadTile(to.address() + kSlotBytes / 2, &a.map, to.full(), 0, up, slab, 0, policy);
  } else {
    ptx::loadTile(to.address(), &a.map, to.full(), 0, tile * kTile, slab, 0, policy);
  }
}

/** Rows as checkpoints have them. */
template <DType kType>
class DenseRows {
 public:
  using Input = InputRows<kType>;
  static constexpr int kTogether = 2;
  static constexpr bool kSeparates = false;  // both sets of sums belong to the same outputs

  __device__ __forceinline__ static void bring(const Arguments& a, const Cursor& to, int tile, int piece,
                                               uint64_t policy) {
    bringSlabs(a, to, tile, piece, policy);
  }

  __device__ __forceinline__ DenseRows(const Arguments& a, const uint8_t* shared)
      : slab_(a), input_(reinterpret_cast<const uint4*>(shared + a.layout.input)), rows_(static_cast<int>(a.x.rows)) {}

  __device__ __forceinline__ void beginTile(int) {}

  template <int kSlots>
  __device__ __forceinline__ void prepare(int piece) {
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      x_[i] = inputOf(input_, (piece + i * kTeams) * kTeamWarps + teamWarp(), rows_);
    }
  }

  template <int kSlots>
  __device__ __forceinline__ void multiply(Sums& sums, const uint32_t (&slots)[kSlots]) const {
    uint32_t left[kSlots][2][4];
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      slab_.load(left[i][0], slots[i], 0);
      slab_.load(left[i][1], slots[i], 1);
    }
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      ptx::multiplyAdd<kType>(sums.even, left[i][0], x_[i].x, x_[i].y);
      ptx::multiplyAdd<kType>(sums.odd, left[i][1], x_[i].z, x_[i].w);
    }
  }

 private:
  SlabRow slab_;
  const uint4* input_;
  int rows_;
  uint4 x_[kTogether];
};

}  // namespace octavo::cuda::rows
