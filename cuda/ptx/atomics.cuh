// Atomic operations that order memory (PTX ISA, "atom", sm_80).
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

}  // namespace octavo::cuda::ptx
