// Loads from global memory that stay where they are written (PTX ISA, "ld", sm_80).
#pragma once

#include <cuda_runtime.h>

namespace octavo::cuda::ptx {

/** 16 bytes, on a boundary of as many, that come when they are used. */
__device__ __forceinline__ uint4 loadChunk(const void* from) {
  uint4 chunk;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.x), "=r"(chunk.y), "=r"(chunk.z), "=r"(chunk.w) : "l"(from) : "memory");
  return chunk;
}

}  // namespace octavo::cuda::ptx
