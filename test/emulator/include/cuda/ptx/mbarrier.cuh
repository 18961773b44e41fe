// cuda/ptx/mbarrier.cuh, emulated.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "asynchronous/barrier.h"
#include "asynchronous/copies.h"
#include "machine/thread.h"

namespace octavo::cuda::ptx {

__device__ __forceinline__ void initBarrier(uint32_t barrier, uint32_t count) {
  emulator::initialiseBarrier(barrier, count);
}
__device__ __forceinline__ void fenceBarriers() {}

__device__ __forceinline__ void arrive(uint32_t barrier) { emulator::barrierAt(barrier)->arrive(); }
__device__ __forceinline__ void arriveAfterCopies(uint32_t barrier) { emulator::arriveAfterCopies(barrier); }
__device__ __forceinline__ void arriveExpecting(uint32_t barrier, uint32_t bytes) {
  emulator::barrierAt(barrier)->arrive(bytes);
}
__device__ __forceinline__ void waitBarrier(uint32_t barrier, uint32_t parity) {
  emulator::waitAtBarrier(barrier, parity);
}

__device__ __forceinline__ bool electLane() { return emulator::self().lane == 0; }

}  // namespace octavo::cuda::ptx
