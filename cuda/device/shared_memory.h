// More than 48 KB of dynamic shared memory must be asked for, once a kernel and device.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include "cuda/device/cuda_check.h"

namespace octavo::cuda {

/** Lets kKernel be launched on the current device with up to `bytes` of dynamic shared memory. */
template <auto kKernel>
void allowSharedMemory(int bytes) {
  static std::atomic<uint64_t> allowed{0};  // a bit a device; above 64 devices the call is repeated
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  uint64_t bit = device < 64 ? uint64_t{1} << device : 0;
  if (allowed.load(std::memory_order_relaxed) & bit) return;
  check(cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
  allowed.fetch_or(bit, std::memory_order_relaxed);
}

}  // namespace octavo::cuda
