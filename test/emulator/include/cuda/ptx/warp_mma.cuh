// cuda/ptx/warp_mma.cuh, emulated.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "asynchronous/copies.h"
#include "base/dtype.h"
#include "machine/thread.h"
#include "tensor/warp.h"

namespace octavo::cuda::ptx {

__device__ __forceinline__ uint32_t sharedAddress(const void* pointer) { return emulator::sharedAddress(pointer); }

__device__ __forceinline__ void copyAsync(uint32_t to, const void* from, bool valid) {
  emulator::copyAsync(to, from, valid ? 16 : 0);
}
__device__ __forceinline__ void copyAsync(uint32_t to, const void* from) { emulator::copyAsync(to, from, 16); }
__device__ __forceinline__ void copyAsync(uint32_t to, const void* from, int bytes) {
  emulator::copyAsync(to, from, bytes);
}
__device__ __forceinline__ void commitCopies() { emulator::commitCopies(); }
template <int kPending>
__device__ __forceinline__ void waitCopies() {
  emulator::waitCopies(kPending);
}

__device__ __forceinline__ void loadMatrices(uint32_t (&registers)[4], uint32_t address) {
  emulator::loadMatrices(registers, 4, address, false);
}
__device__ __forceinline__ void loadTwoMatrices(uint32_t& first, uint32_t& second, uint32_t address) {
  uint32_t registers[2];
  emulator::loadMatrices(registers, 2, address, false);
  first = registers[0];
  second = registers[1];
}
__device__ __forceinline__ void loadMatricesTransposed(uint32_t (&registers)[4], uint32_t address) {
  emulator::loadMatrices(registers, 4, address, true);
}
__device__ __forceinline__ uint32_t transposeMatrix(uint32_t pair) { return emulator::transposeMatrix(pair); }

template <DType kType>
__device__ __forceinline__ void multiplyAdd(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  emulator::multiplyWarp(kType == DType::kBF16 ? emulator::Format::kBF16 : emulator::Format::kF16, c, a, b0, b1);
}
__device__ __forceinline__ void multiplyAddInt8(int32_t (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  emulator::multiplyWarp(emulator::Format::kInt8, c, a, b0, b1);
}

__device__ __forceinline__ void multiplyAddE4m3(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  emulator::multiplyWarp(emulator::Format::kE4M3, c, a, b0, b1);
}

}  // namespace octavo::cuda::ptx
