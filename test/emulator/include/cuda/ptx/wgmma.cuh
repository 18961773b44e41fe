// cuda/ptx/wgmma.cuh, emulated.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "asynchronous/products.h"
#include "base/dtype.h"
#include "tensor/warp.h"

namespace octavo::cuda::ptx {

__device__ __forceinline__ uint64_t tileDescriptor(uint32_t address) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62, kGroup = uint64_t{1024 >> 4} << 32, kUnused = uint64_t{1} << 16;
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | kUnused | kGroup | kSwizzle128;
}

__device__ __forceinline__ void fenceProducts() { emulator::fenceProducts(); }
__device__ __forceinline__ void commitProducts() { emulator::commitProducts(); }
template <int kPending>
__device__ __forceinline__ void waitProducts() {
  emulator::waitProducts(kPending);
}

template <int kCount>
__device__ __forceinline__ void pinRegisters(float (&)[kCount]) {}
template <int kRegisters>
__device__ __forceinline__ void lowerRegisters() {
  static_assert(kRegisters % 8 == 0 && kRegisters >= 24 && kRegisters <= 256);
}
template <int kRegisters>
__device__ __forceinline__ void raiseRegisters() {
  static_assert(kRegisters % 8 == 0 && kRegisters >= 24 && kRegisters <= 256);
}

template <DType kType>
constexpr emulator::Format kFormat = kType == DType::kBF16 ? emulator::Format::kBF16 : emulator::Format::kF16;

template <DType kType, int kCount>
__device__ __forceinline__ void multiplyTiles(float (&d)[kCount], uint64_t a, uint64_t b, int accumulates) {
  emulator::issueProduct({kFormat<kType>, 2 * kCount, false, false, accumulates != 0, a, b}, d, nullptr);
}

__device__ __forceinline__ void storeMatrices(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  const uint32_t registers[4] = {r0, r1, r2, r3};
  emulator::storeMatrices(address, registers, false);
}
__device__ __forceinline__ void storeMatricesTransposed(uint32_t address, const uint32_t (&r)[4]) {
  emulator::storeMatrices(address, r, true);
}

}  // namespace octavo::cuda::ptx
