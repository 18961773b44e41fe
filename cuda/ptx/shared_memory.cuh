// Loads and stores at addresses of the block's shared memory (PTX ISA, "ld.shared", sm_80): no pointer is made of them,
// and a vector is one instruction.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

__device__ __forceinline__ uint32_t loadWord(uint32_t from) {
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
  return word;
}

/** 8 bytes, on a boundary of as many. */
__device__ __forceinline__ void loadTwoWords(uint32_t& x, uint32_t& y, uint32_t from) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(from) : "memory");
}

/** 16 bytes, on a boundary of as many. */
__device__ __forceinline__ void loadFourWords(uint32_t& x, uint32_t& y, uint32_t& z, uint32_t& w, uint32_t from) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(from) : "memory");
}

__device__ __forceinline__ uint16_t loadHalfWord(uint32_t from) {
  uint16_t half;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(from) : "memory");
  return half;
}

__device__ __forceinline__ float loadShared(uint32_t from) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(from) : "memory");
  return value;
}

/** 8 bytes, on a boundary of as many. */
__device__ __forceinline__ float2 loadSharedPair(uint32_t from) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(from) : "memory");
  return pair;
}

__device__ __forceinline__ void storeShared(uint32_t to, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}

/** 8 bytes, on a boundary of as many. */
__device__ __forceinline__ void storeTwoWords(uint32_t to, uint32_t x, uint32_t y) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory");
}

/** 16 bytes, on a boundary of as many. */
__device__ __forceinline__ void storeFourWords(uint32_t to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

}  // namespace octavo::cuda::ptx
