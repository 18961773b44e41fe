// Slices of codes on their way to shared memory: by the tensor memory accelerator (sm_90), keys and values in one copy.
#pragma once

#include "cuda/attention/split_ring.cuh"
#include "cuda/ptx/cluster.cuh"

namespace octavo::cuda::split {

template <DType kCode_, int kDim, int kTiles>
struct CodeSource {
  static constexpr bool kTensor = true;
  static constexpr DType kCode = kCode_;
  using Shape = split::Shape<kDim, kTiles, kTensor, kCode>;
  static constexpr bool kHasKeyScales = kCode == DType::kI8;  // of each key, beside the codes
  static constexpr int kArrivals = kHasKeyScales ? 1 + 32 : 1;

  static __device__ __forceinline__ void prepare(const CUtensorMap* map) { ptx::prefetchTensorMap(map); }
  static __device__ __forceinline__ void begin(uint32_t barrier, int count) {
    if (threadIdx.x % 32 == 0) ptx::arriveExpecting(barrier, count * Shape::kSliceBytes);
  }
  /** Of a lane for its own slice. */
  static __device__ __forceinline__ void fetch(const Arguments& a, const CUtensorMap* map, uint32_t to,
                                               uint32_t barrier, int block, int head, int row, uint64_t policy) {
    const int line = (head * a.cache.blockSize + row) >> Shape::Rows::kShared;
    ptx::loadTile(to, map, barrier, 0, line, 0, a.layer * 2, block, policy);
  }
  /** Scales of each key and value: a lane brings those of four, and no more is asked of the one that copies codes. */
  static constexpr int kScaleLanes = Shape::kSliceScaleBytes / 16;  // for a slice
  static __device__ __forceinline__ void fetchScales(const Arguments& a, uint32_t to, int block, int head, int row) {
    const int lane = static_cast<int>(threadIdx.x % 32), side = lane / (kScaleLanes / 2) % 2;
    const float* const from = a.cache.scales(block, side, head) + row + lane % (kScaleLanes / 2) * 4;
    ptx::copyAsync(to + lane * 16, from);
  }
  static __device__ __forceinline__ void finish(uint32_t barrier) {
    if constexpr (kHasKeyScales) ptx::arriveAfterCopies(barrier);
  }
  /** Values where nothing is visible: a weight of 0 does not make a number of NaN, which int8 has none of. */
  static __device__ __noinline__ void clear(uint32_t slice, Visible visible) {
    if constexpr (kCode == DType::kE4M3) {
      const uint32_t values = slice + Shape::Rows::kBytes;
      for (int i = threadIdx.x % 32; i < Shape::Rows::kBytes / 16; i += 32) {
        const int row = i / (kDim / 16), chunk = i % (kDim / 16);
        if (row >= visible.first && row < visible.end) continue;
        ptx::storeZeros(values + Shape::Rows::at(row, chunk % 8) + chunk / 8 * 2048);
      }
      ptx::fenceForCopies();
    }
    __syncwarp();
  }
};

}  // namespace octavo::cuda::split
