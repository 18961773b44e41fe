// cuda/ptx/shared_memory.cuh, emulated.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "machine/thread.h"

namespace octavo::cuda::ptx {

/** At a shared address, which must be a multiple of the size of what lies there. */
template <class T>
__device__ __forceinline__ T& sharedAt(uint32_t address) {
  if (address % sizeof(T)) emulator::fault("an access to shared memory that does not lie on a boundary of its size");
  return *reinterpret_cast<T*>(emulator::sharedPointer(address));
}

__device__ __forceinline__ uint32_t loadWord(uint32_t from) { return sharedAt<uint32_t>(from); }

__device__ __forceinline__ void loadTwoWords(uint32_t& x, uint32_t& y, uint32_t from) {
  const auto& words = sharedAt<uint2>(from);
  x = words.x;
  y = words.y;
}

__device__ __forceinline__ void loadFourWords(uint32_t& x, uint32_t& y, uint32_t& z, uint32_t& w, uint32_t from) {
  const auto& words = sharedAt<uint4>(from);
  x = words.x;
  y = words.y;
  z = words.z;
  w = words.w;
}

__device__ __forceinline__ uint16_t loadHalfWord(uint32_t from) { return sharedAt<uint16_t>(from); }
__device__ __forceinline__ float loadShared(uint32_t from) { return sharedAt<float>(from); }
__device__ __forceinline__ float2 loadSharedPair(uint32_t from) { return sharedAt<float2>(from); }

__device__ __forceinline__ void storeShared(uint32_t to, float value) { sharedAt<float>(to) = value; }
__device__ __forceinline__ void storeTwoWords(uint32_t to, uint32_t x, uint32_t y) { sharedAt<uint2>(to) = {x, y}; }
__device__ __forceinline__ void storeFourWords(uint32_t to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  sharedAt<uint4>(to) = {x, y, z, w};
}

}  // namespace octavo::cuda::ptx
