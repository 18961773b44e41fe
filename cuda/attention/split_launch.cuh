// Chooses the instantiation of the split decode kernel for one dtype.
#pragma once

#include "cuda/attention/split_decode.cuh"
#include "cuda/device/cuda_check.h"
#include "cuda/device/shared_memory.h"

namespace octavo::cuda::split {

template <DType kType, int kDim, int kTiles>
void launchShape(const Arguments& a, int architecture, int blocks, cudaStream_t stream) {
  const int bytes = Ring<kDim>::bytes(architecture);
  allowSharedMemory<splitKernel<kType, kDim, kTiles>>(bytes);
  splitKernel<kType, kDim, kTiles><<<blocks, Ring<kDim>::kWarps * 32, bytes, stream>>>(a);
  checkLaunch("splitDecode");
}

template <DType kType>
void launchType(const Arguments& a, int architecture, int blocks, cudaStream_t stream) {
  const bool wide = a.headShare > 8;
  switch (a.cache.headDim) {
    case 64:
      return wide ? launchShape<kType, 64, 2>(a, architecture, blocks, stream)
                  : launchShape<kType, 64, 1>(a, architecture, blocks, stream);
    case 80: return launchShape<kType, 80, 1>(a, architecture, blocks, stream);
    case 96: return launchShape<kType, 96, 1>(a, architecture, blocks, stream);
    case 128:
      return wide ? launchShape<kType, 128, 2>(a, architecture, blocks, stream)
                  : launchShape<kType, 128, 1>(a, architecture, blocks, stream);
    case 192: return launchShape<kType, 192, 1>(a, architecture, blocks, stream);
    default: return launchShape<kType, 256, 1>(a, architecture, blocks, stream);
  }
}

/** One a translation unit, so that they compile side by side. */
void launchBf16(const Arguments& a, int architecture, int blocks, cudaStream_t stream);
void launchF16(const Arguments& a, int architecture, int blocks, cudaStream_t stream);

}  // namespace octavo::cuda::split
