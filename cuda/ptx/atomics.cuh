// Memory that multiprocessors share while they run: operations that order it, and that do not (PTX ISA, "atom" and
// "ld.relaxed", sm_80).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

/** Adds 1 and returns what was there; what threads wrote that counted before is visible to the caller. */
__device__ __forceinline__ int32_t countOrdered(int32_t* counter) {
  int32_t before;
  asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

/** The same without any order: it waits for nothing but its own answer. */
__device__ __forceinline__ int32_t countUnordered(int32_t* counter) {
  int32_t before;
  asm volatile("atom.add.relaxed.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

/** Four words that other multiprocessors may read at once: each comes whole, in no order. */
__device__ __forceinline__ void storeUnordered(float4* to, const float4& words) {
  asm volatile("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(words.x), "f"(words.y),
               "f"(words.z), "f"(words.w) : "memory");
}
__device__ __forceinline__ float4 loadUnordered(const float4* from) {
  float4 words;
  asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(words.x), "=f"(words.y), "=f"(words.z), "=f"(words.w) : "l"(from) : "memory");
  return words;
}

}  // namespace octavo::cuda::ptx
