// More than 48 KB of dynamic shared memory must be asked for, once a kernel and device.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <mutex>

#include "cuda/device/cuda_check.h"

namespace octavo::cuda {

/** The highest value that an attribute of a kernel was given, by device. */
struct KernelAttribute {
  std::mutex mutex;
  std::array<int, 64> values{};
};

/** Raises an attribute of `kernel` on the current device to `value` where it is lower. */
inline void raiseAttribute(KernelAttribute& given, const void* kernel, cudaFuncAttribute attribute, int value) {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const std::lock_guard lock(given.mutex);  // two launches of different needs must not leave the lower one
  int& most = given.values.at(static_cast<size_t>(device));
  if (value <= most) return;
  check(cudaFuncSetAttribute(kernel, attribute, value), "cudaFuncSetAttribute");
  most = value;
}

/** Lets kKernel be launched on the current device with up to `bytes` of dynamic shared memory. */
template <auto kKernel>
void allowSharedMemory(int bytes) {
  static KernelAttribute given;
  raiseAttribute(given, reinterpret_cast<const void*>(kKernel), cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

/**
 * Has a multiprocessor that begins with kKernel give all it can to shared memory, so that blocks of the next kernel find
 * room beside its own: memory is divided anew only where no block is left.
 */
template <auto kKernel>
void preferSharedMemory() {
  static KernelAttribute given;
  raiseAttribute(given, reinterpret_cast<const void*>(kKernel), cudaFuncAttributePreferredSharedMemoryCarveout,
                 cudaSharedmemCarveoutMaxShared);
}

}  // namespace octavo::cuda
