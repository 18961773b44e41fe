// Memory that multiprocessors share while they run: operations that order it, and that do not (PTX ISA, "atom" and
// "ld.relaxed", of 128 bits, sm_70).
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

/** 16 bytes that other multiprocessors may read at once: they come whole, and in no order with others. */
__device__ __forceinline__ void storeWhole(float4* to, const float4& whole) {
  asm volatile(
      "{\n.reg .b64 low, high;\n.reg .b128 whole;\n"
      "mov.b64 low, {%1, %2};\nmov.b64 high, {%3, %4};\nmov.b128 whole, {low, high};\n"
      "st.relaxed.gpu.global.b128 [%0], whole;\n}" ::"l"(to), "f"(whole.x), "f"(whole.y), "f"(whole.z), "f"(whole.w)
      : "memory");
}
__device__ __forceinline__ float4 loadWhole(const float4* from) {
  float4 whole;
  asm volatile(
      "{\n.reg .b64 low, high;\n.reg .b128 whole;\n"
      "ld.relaxed.gpu.global.b128 whole, [%4];\n"
      "mov.b128 {low, high}, whole;\nmov.b64 {%0, %1}, low;\nmov.b64 {%2, %3}, high;\n}"
      : "=f"(whole.x), "=f"(whole.y), "=f"(whole.z), "=f"(whole.w) : "l"(from) : "memory");
  return whole;
}

}  // namespace octavo::cuda::ptx
