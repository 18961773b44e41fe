// cuda/ptx/wgmma_left.cuh, emulated.
#pragma once

#include "cuda/ptx/wgmma.cuh"

namespace octavo::cuda::ptx {

template <DType kType, int kCount>
__device__ __forceinline__ void multiplyLeft(float (&d)[kCount], const uint32_t (&a)[4], uint64_t b, int accumulates) {
  emulator::issueProduct({kFormat<kType>, 2 * kCount, false, true, accumulates != 0, 0, b}, d, a);
}

}  // namespace octavo::cuda::ptx
