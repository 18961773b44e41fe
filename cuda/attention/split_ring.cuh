// The ring in which the slices of a warp arrive, and the two ways to bring them there.
#pragma once

#include "cuda/attention/split_schedule.cuh"
#include "cuda/attention/split_softmax.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"

namespace octavo::cuda::split {
/**
 * A warp's share of shared memory: a ring of slices, in flight often enough to cover the latency of memory at full
 * bandwidth; then a landing for the pieces of items; then its barriers.
 */
template <int kDim, bool kTensor>
struct Ring {
  using Rows = SliceRows<kDim, kTensor>;
  static constexpr int kWarps = kDim <= 64 ? 8 : 4;
  static constexpr int kStageBytes = 2 * Rows::kBytes;
  static constexpr int kTailBytes = 128;  // barriers
  static constexpr int kWarpBytes = ((kTensor ? 227 : 163) << 10) / kWarps / 1024 * 1024;
  /** A piece of the most query rows; with less room than that pieces are read where they lie. */
  static constexpr int kPieceBytes = (kDim / 16 + 1) * (kDim == 64 || kDim == 128 ? 2 : 1) * 32 * 16;
  static constexpr int kFit = (kWarpBytes - kTailBytes) / kStageBytes;
  static constexpr int kMost = kFit < 5 ? kFit : 5;
  static constexpr bool kLeavesRoom = kWarpBytes - kTailBytes - kMost * kStageBytes >= kPieceBytes;
  static constexpr int kStages = kLeavesRoom || kMost <= 3 ? kMost : kMost - 1;
  static constexpr int kLandingBytes = kWarpBytes - kTailBytes - kStages * kStageBytes;
  static constexpr int kBytes = kWarps * kWarpBytes + 1024;  // swizzled rows start at a multiple of 1024
};

__device__ __forceinline__ Visible visibleIn(const Keys& keys, int slice) {
  int firstKey = slice * kSliceKeys;
  return {keys.first - firstKey, keys.end - firstKey};
}

/** By cp.async of all lanes (sm_80 and later), to padded rows. */
template <int kDim>
struct CopySource {
  static constexpr bool kTensor = false;
  using Shape = Ring<kDim, kTensor>;
  const Arguments& a;
  uint32_t ring;

  __device__ __forceinline__ CopySource(const Arguments& a, const CUtensorMap*, uint32_t ring) : a(a), ring(ring) {}

  __device__ __forceinline__ void fetch(int stage, int block, int head, int row, Visible visible) const {
    const uint16_t* from = static_cast<const uint16_t*>(a.cache.data) + block * a.cache.blockStride +
                           head * a.cache.headStride + row * kDim;
    uint32_t to = ring + stage * Shape::kStageBytes;
    copyRows(to, from + a.cache.keyStart, visible);
    copyRows(to + Shape::Rows::kBytes, from + a.cache.valueStart, visible);
  }
  /** After each slice, fetched or not. */
  __device__ __forceinline__ void commit() const { ptx::commitCopies(); }
  /** Until kSlices more are there. */
  template <int kSlices>
  __device__ __forceinline__ void await(int, uint32_t, const Visible (&)[kSlices]) const {
    ptx::waitCopies<Shape::kStages - kSlices>();
    __syncwarp();
  }
  __device__ __forceinline__ void close() const { ptx::waitCopies<0>(); }

 private:
  /** Zeros where nothing is visible: what the cache holds there may be NaN. */
  __device__ __forceinline__ void copyRows(uint32_t to, const uint16_t* from, Visible visible) const {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      int index = i * 32 + lane, row = index / (kDim / 8), chunk = index % (kDim / 8);
      bool valid = row >= visible.first && row < visible.end;
      ptx::copyAsync(to + Shape::Rows::at(row, chunk), from + index * 8, valid);
    }
  }
};

/** By the tensor memory accelerator (sm_90), keys and values in one copy, to swizzled rows. */
template <int kDim>
struct TensorSource {
  static constexpr bool kTensor = true;
  using Shape = Ring<kDim, kTensor>;
  static constexpr int kBoxes = kDim / 64, kBoxBytes = kSliceKeys * 128;
  const Arguments& a;
  const CUtensorMap* map;
  uint32_t ring;

  __device__ __forceinline__ TensorSource(const Arguments& a, const CUtensorMap* map, uint32_t ring)
      : a(a), map(map), ring(ring) {
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < Shape::kStages; ++i) ptx::initBarrier(barrier(i), 1);
      ptx::fenceBarriers();
    }
    __syncwarp();
  }

  __device__ __forceinline__ void fetch(int stage, int block, int head, int row, Visible) const {
    if (!ptx::electLane()) return;
    ptx::arriveExpecting(barrier(stage), Shape::kStageBytes);
    ptx::loadTile(ring + stage * Shape::kStageBytes, map, barrier(stage), 0, head * a.cache.blockSize + row, 0,
                  block * a.planes + a.layer * 2);
  }
  __device__ __forceinline__ void commit() const {}
  template <int kSlices>
  __device__ __forceinline__ void await(int stage, uint32_t parity, const Visible (&visible)[kSlices]) const {
#pragma unroll
    for (int i = 0; i < kSlices; ++i) {
      ptx::waitBarrier(barrier(stage), parity);
      if (!visible[i].all()) clear(stage, visible[i]);
      if (++stage == Shape::kStages) {
        stage = 0;
        parity ^= 1;
      }
    }
    __syncwarp();
  }
  __device__ __forceinline__ void close() const {}

 private:
  __device__ __forceinline__ uint32_t barrier(int stage) const {
    return ring + Shape::kWarpBytes - Shape::kTailBytes + stage * 8;
  }
  /** Values where nothing is visible: a weight of 0 does not make a number of NaN. */
  __device__ __noinline__ void clear(int stage, Visible visible) const {
    uint32_t values = ring + stage * Shape::kStageBytes + Shape::Rows::kBytes;
    for (int i = threadIdx.x % 32; i < kBoxes * kSliceKeys * 8; i += 32) {
      int row = i / 8 % kSliceKeys;
      if (row < visible.first || row >= visible.end) ptx::storeZeros(values + i * 16);
    }
    ptx::fenceForCopies();
    __syncwarp();
  }
};

}  // namespace octavo::cuda::split
