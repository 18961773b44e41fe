// More than 48 KB of dynamic shared memory must be asked for, once a kernel and device.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <mutex>

#include "cuda/device/cuda_check.h"

namespace octavo::cuda {

/** What a kernel may be launched with, by device. */
struct SharedMemoryLimits {
  std::mutex mutex;
  std::array<int, 64> bytes{};
};

/** Raises the limit of `kernel` on the current device to `bytes` where it is lower. */
inline void raiseSharedMemory(SharedMemoryLimits& limits, const void* kernel, int bytes) {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const std::lock_guard lock(limits.mutex);  // two launches of different sizes must not leave the smaller one
  int& most = limits.bytes.at(static_cast<size_t>(device));
  if (bytes <= most) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
  most = bytes;
}

/** Lets kKernel be launched on the current device with up to `bytes` of dynamic shared memory. */
template <auto kKernel>
void allowSharedMemory(int bytes) {
  static SharedMemoryLimits limits;
  raiseSharedMemory(limits, reinterpret_cast<const void*>(kKernel), bytes);
}

}  // namespace octavo::cuda
