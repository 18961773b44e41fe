// cuda/ptx/wgmma_registers.cuh, emulated.
#pragma once

#include "cuda/ptx/wgmma.cuh"

namespace octavo::cuda::ptx {

__device__ __forceinline__ uint64_t transposedDescriptor(uint32_t address, uint32_t slabBytes) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62, kGroup = uint64_t{1024 >> 4} << 32;
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | static_cast<uint64_t>(slabBytes >> 4) << 16 | kGroup |
         kSwizzle128;
}

template <DType kType, int kCount>
__device__ __forceinline__ void multiplyRegisters(float (&d)[kCount], const uint32_t* a, uint64_t b, int accumulates) {
  emulator::issueProduct({kFormat<kType>, 2 * kCount, true, true, accumulates != 0, 0, b}, d, a);
}

}  // namespace octavo::cuda::ptx
