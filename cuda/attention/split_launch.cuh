// Chooses the instantiation of the split decode kernel for one dtype.
#pragma once

#include "cuda/attention/split_decode.cuh"
#include "cuda/device/cuda_check.h"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"

namespace octavo::cuda::split {

/** What a launch needs besides the kernel's own arguments. */
struct Launch {
  const KvCacheView& cache;
  int architecture, blocks;
  cudaStream_t stream;
};

template <DType kType, int kDim, int kTiles, typename Source, bool kFew>
void launchShape(const Arguments& a, const CUtensorMap& map, const Launch& to) {
  constexpr auto kKernel = splitKernel<kType, kDim, kTiles, Source, kFew>;
  allowSharedMemory<splitKernel<kType, kDim, kTiles, Source, kFew>>(Source::Shape::kBytes);
  const dim3 blocks(static_cast<unsigned>(to.blocks)), threads(Source::Shape::kThreads);
  if (to.architecture >= 90) {
    return launchEarly(kKernel, {blocks, threads, Source::Shape::kBytes, to.stream}, "splitDecode", a, map);
  }
  kKernel<<<blocks, threads, Source::Shape::kBytes, to.stream>>>(a, map);
  checkLaunch("splitDecode");
}

template <DType kType, int kDim, int kTiles, bool kFew>
void launchDim(const Arguments& a, const Launch& to) {
  if constexpr (kDim % 64 == 0) {
    if (to.architecture >= 90) {
      const CUtensorMap map = cacheMapOf(to.cache, kSliceKeys);
      return launchShape<kType, kDim, kTiles, TensorSource<kDim, kTiles>, kFew>(a, map, to);
    }
  }
  if constexpr (kTiles <= 2) launchShape<kType, kDim, kTiles, CopySource<kDim, kTiles>, kFew>(a, {}, to);
}

/** By the query rows of an item, as AttentionScratchLayout has room for them. */
template <DType kType, int kDim, bool kFew>
void launchTiles(const Arguments& a, const Launch& to) {
  const int32_t tiles = AttentionScratchLayout::tilesFor(a.rows);
  if constexpr (kFew) {
    if (tiles == 4) return launchDim<kType, kDim, 4, kFew>(a, to);
  }
  return tiles == 1 ? launchDim<kType, kDim, 1, kFew>(a, to) : launchDim<kType, kDim, 2, kFew>(a, to);
}

template <DType kType, bool kFew>
void launchType(const Arguments& a, const Launch& to) {
  switch (a.cache.headDim) {
    case 64: return launchTiles<kType, 64, kFew>(a, to);
    case 80: return launchDim<kType, 80, 1, kFew>(a, to);
    case 96: return launchDim<kType, 96, 1, kFew>(a, to);
    case 128: return launchTiles<kType, 128, kFew>(a, to);
    case 192: return launchDim<kType, 192, 1, kFew>(a, to);
    default: return launchDim<kType, 256, 1, kFew>(a, to);
  }
}

/** By head dim, then rows, of a cache of codes; products are of fp16. */
template <DType kCode, int kDim, int kTiles, bool kFew>
void launchCodes(const Arguments& a, const Launch& to) {
  const CUtensorMap map = cacheMapOf(to.cache, kSliceKeys);
  launchShape<DType::kF16, kDim, kTiles, CodeSource<kCode, kDim, kTiles>, kFew>(a, map, to);
}

template <DType kCode, int kDim, bool kFew>
void launchCodeTiles(const Arguments& a, const Launch& to) {
  const int32_t tiles = AttentionScratchLayout::tilesFor(a.rows);
  if constexpr (kFew) {
    if (tiles == 4) return launchCodes<kCode, kDim, 4, kFew>(a, to);
  }
  return tiles == 1 ? launchCodes<kCode, kDim, 1, kFew>(a, to) : launchCodes<kCode, kDim, 2, kFew>(a, to);
}

template <DType kCode, bool kFew>
void launchCodeType(const Arguments& a, const Launch& to) {
  switch (a.cache.headDim) {
    case 64: return launchCodeTiles<kCode, 64, kFew>(a, to);
    case 128: return launchCodeTiles<kCode, 128, kFew>(a, to);
    default: return launchCodes<kCode, 256, 1, kFew>(a, to);
  }
}

/** One a translation unit, so that they compile side by side. */
void launchBf16(const Arguments& a, const Launch& to);
void launchF16(const Arguments& a, const Launch& to);
void launchFewBf16(const Arguments& a, const Launch& to);
void launchFewF16(const Arguments& a, const Launch& to);
void launchE4m3(const Arguments& a, const Launch& to);
void launchInt8(const Arguments& a, const Launch& to);
void launchFewE4m3(const Arguments& a, const Launch& to);
void launchFewInt8(const Arguments& a, const Launch& to);

}  // namespace octavo::cuda::split
