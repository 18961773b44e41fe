// Chooses the instantiation of the split decode kernel for one dtype.
#pragma once

#include "cuda/attention/split_decode.cuh"
#include "cuda/device/cuda_check.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"

namespace octavo::cuda::split {

template <DType kType, int kDim, int kTiles, typename Source>
void launchShape(const Arguments& a, const CUtensorMap& map, int blocks, cudaStream_t stream) {
  constexpr auto kKernel = splitKernel<kType, kDim, kTiles, Source>;
  allowSharedMemory<splitKernel<kType, kDim, kTiles, Source>>(Source::Shape::kBytes);
  kKernel<<<blocks, Source::Shape::kWarps * 32, Source::Shape::kBytes, stream>>>(a, map);
  checkLaunch("splitDecode");
}

template <DType kType, int kDim, int kTiles>
void launchDim(const Arguments& a, const KvCacheView& cache, int architecture, int blocks, cudaStream_t stream) {
  if constexpr (kDim % 64 == 0) {
    if (architecture >= 90) {
      const CUtensorMap map = cacheMapOf(cache, kSliceKeys);
      return launchShape<kType, kDim, kTiles, TensorSource<kDim>>(a, map, blocks, stream);
    }
  }
  launchShape<kType, kDim, kTiles, CopySource<kDim>>(a, {}, blocks, stream);
}

template <DType kType>
void launchType(const Arguments& a, const KvCacheView& cache, int architecture, int blocks, cudaStream_t stream) {
  const bool wide = a.headShare > 8;
  switch (a.cache.headDim) {
    case 64:
      return wide ? launchDim<kType, 64, 2>(a, cache, architecture, blocks, stream)
                  : launchDim<kType, 64, 1>(a, cache, architecture, blocks, stream);
    case 80: return launchDim<kType, 80, 1>(a, cache, architecture, blocks, stream);
    case 96: return launchDim<kType, 96, 1>(a, cache, architecture, blocks, stream);
    case 128:
      return wide ? launchDim<kType, 128, 2>(a, cache, architecture, blocks, stream)
                  : launchDim<kType, 128, 1>(a, cache, architecture, blocks, stream);
    case 192: return launchDim<kType, 192, 1>(a, cache, architecture, blocks, stream);
    default: return launchDim<kType, 256, 1>(a, cache, architecture, blocks, stream);
  }
}

/** One a translation unit, so that they compile side by side. */
void launchBf16(const Arguments& a, const KvCacheView& cache, int architecture, int blocks, cudaStream_t stream);
void launchF16(const Arguments& a, const KvCacheView& cache, int architecture, int blocks, cudaStream_t stream);

}  // namespace octavo::cuda::split
