// Barriers in shared memory on which copies and warps meet (PTX ISA, "mbarrier", sm_80; announced bytes, sm_90).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

/** A phase ends when `count` arrivals and all announced bytes have come. One thread, before fenceBarriers. */
__device__ __forceinline__ void initBarrier(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

/** Makes initialised barriers visible to the copy engine and the cluster. */
__device__ __forceinline__ void fenceBarriers() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void arrive(uint32_t barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier) : "memory");
#endif
}

/** Arrives when all cp.async of this thread so far have come; counted among the barrier's arrivals. */
__device__ __forceinline__ void arriveAfterCopies(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

/** Arrives, and announces bytes that copies will complete. */
__device__ __forceinline__ void arriveExpecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/** Waits for the end of the phase of that parity; a fresh barrier counts as past parity 1. */
__device__ __forceinline__ void waitBarrier(uint32_t barrier, uint32_t parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  asm volatile(
      "{\n.reg .pred done;\n"
      "wait_%=: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
      "@!done bra wait_%=;\n}" ::"r"(barrier), "r"(parity) : "memory");
#else
  asm volatile(
      "{\n.reg .pred done;\n"
      "wait_%=: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra wait_%=;\n}" ::"r"(barrier), "r"(parity) : "memory");
#endif
}

/** One lane of a converged warp. */
__device__ __forceinline__ bool electLane() {
  uint32_t elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;
}

}  // namespace octavo::cuda::ptx
