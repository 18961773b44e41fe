// Codes of a word to numbers, in registers (PTX ISA, sm_89).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

/** Four of e4m3 to fp16, exact; NaN stays NaN: those of the lower half of a word and those of the upper one. */
__device__ __forceinline__ void e4m3Pairs(uint32_t codes, uint32_t& lower, uint32_t& upper) {
  lower = upper = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\ncvt.rn.f16x2.e4m3x2 %0, low;\n"
      "cvt.rn.f16x2.e4m3x2 %1, high;\n}" : "=r"(lower), "=r"(upper) : "r"(codes));
#endif
}

/** Hides where a value comes from: what is made of it is then made again where it is needed, rather than kept. */
__device__ __forceinline__ void hideOrigin(uint32_t& value) { asm volatile("" : "+r"(value)); }

}  // namespace octavo::cuda::ptx
