// Instructions on numbers in registers that CUDA has no function for (PTX ISA, sm_80 and later).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/dtype.h"

namespace octavo::cuda::ptx {

/** 2^x to some 22 bits; denormals are 0. */
__device__ __forceinline__ float exp2Approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/** log2 x to some 22 bits; of denormals it is −∞. */
__device__ __forceinline__ float log2Approximate(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/** e4m3 in the lower half of a word to fp16, exact; NaN stays NaN (sm_89). */
__device__ __forceinline__ uint32_t e4m3Pair(uint32_t codes) {
  uint32_t pair = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %1;\ncvt.rn.f16x2.e4m3x2 %0, low;\n}" : "=r"(pair) : "r"(codes));
#endif
  return pair;
}

/** (a & b) | c and (a & b) ^ c, in one instruction each. */
__device__ __forceinline__ uint32_t andOr(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
__device__ __forceinline__ uint32_t andXor(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

/** a · b + c of both halves, rounded once. */
template <DType kType>
__device__ __forceinline__ uint32_t fusedPair(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result;
  if constexpr (kType == DType::kBF16) asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  else asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

/** Keeps a value in its register: the compiler neither computes it again nor sees what it was made from. */
__device__ __forceinline__ void keep(uint32_t& value) { asm volatile("" : "+r"(value)); }

}  // namespace octavo::cuda::ptx
