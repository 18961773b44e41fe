// Slices of codes on their way to shared memory: by the tensor memory accelerator (sm_90), keys and values in one copy.
#pragma once

#include "cuda/attention/split_ring.cuh"
#include "cuda/ptx/cluster.cuh"

namespace octavo::cuda::split {

template <DType kCode_, int kDim, int kTiles>
struct CodeSource {
  static constexpr bool kTensor = true;
  static constexpr DType kCode = kCode_;
  static constexpr int kArrivals = 1;
  using Shape = split::Shape<kDim, kTiles, kTensor, kCode>;
  static constexpr bool kHasKeyScales = kCode == DType::kI8;  // of each key, beside the codes

  static __device__ __forceinline__ void prepare(const CUtensorMap* map) { ptx::prefetchTensorMap(map); }
  static __device__ __forceinline__ void begin(uint32_t barrier, int count) {
    constexpr int kEach = Shape::kSliceBytes + (kHasKeyScales ? Shape::kSliceScaleBytes : 0);
    if (threadIdx.x % 32 == 0) ptx::arriveExpecting(barrier, count * kEach);
  }
  /** `to`: the slice; `scales`: where its scales go. */
  static __device__ __forceinline__ void fetch(const Arguments& a, const CUtensorMap* map, uint32_t to, uint32_t scales,
                                               uint32_t barrier, int block, int head, int row) {
    if (threadIdx.x % 32 != 0) return;
    const int line = (head * a.cache.blockSize + row) >> Shape::Rows::kShared;
    ptx::loadTile(to, map, barrier, 0, line, 0, a.layer * 2, block);
    if constexpr (kHasKeyScales) {
      constexpr uint32_t kBytes = kSliceKeys * sizeof(float);
      ptx::loadBytes(scales, a.cache.scales(block, 0, head) + row, kBytes, barrier);
      ptx::loadBytes(scales + kBytes, a.cache.scales(block, 1, head) + row, kBytes, barrier);
    }
  }
  static __device__ __forceinline__ void finish(uint32_t) {}
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
