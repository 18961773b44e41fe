// Chooses the instantiation of the split decode kernel for one dtype.
#pragma once

#include "cuda/attention/split_decode.cuh"
#include "cuda/device/cuda_check.h"
#include "cuda/device/shared_memory.h"

namespace octavo::cuda::split {

template <DType kType, int kDim, int kTiles>
void launchShape(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream) {
  const int bytes = Ring<kDim>::bytes(traits.architecture);
  allowSharedMemory<splitKernel<kType, kDim, kTiles>>(bytes);
  splitKernel<kType, kDim, kTiles><<<traits.multiprocessors, Ring<kDim>::kWarps * 32, bytes, stream>>>(a);
  check(cudaGetLastError(), "the launch of pagedAttention (split decode)");
}

template <DType kType>
void launchType(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream) {
  const bool wide = a.headShare > 8;
  switch (a.cache.headDim) {
    case 64: return wide ? launchShape<kType, 64, 2>(a, traits, stream) : launchShape<kType, 64, 1>(a, traits, stream);
    case 80: return launchShape<kType, 80, 1>(a, traits, stream);
    case 96: return launchShape<kType, 96, 1>(a, traits, stream);
    case 128:
      return wide ? launchShape<kType, 128, 2>(a, traits, stream) : launchShape<kType, 128, 1>(a, traits, stream);
    case 192: return launchShape<kType, 192, 1>(a, traits, stream);
    default: return launchShape<kType, 256, 1>(a, traits, stream);
  }
}

/** One a translation unit, so that they compile side by side. */
void launchBf16(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream);
void launchF16(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream);

}  // namespace octavo::cuda::split
