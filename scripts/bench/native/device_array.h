// Device memory of a benchmark: owned, of one size.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "cuda/device/cuda_check.h"

namespace octavo::bench {

/** `count` elements on the current device. Throws kDeviceFailed where they do not fit. */
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    cuda::check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "cudaMalloc");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    cuda::check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  size_t count() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

  /** Every byte `value`; 0xff makes NaN of every float dtype. */
  void fill(int value) { cuda::check(cudaMemset(data_, value, bytes()), "cudaMemset"); }

  /** A copy of elements [first, first + count), after all work on the device. */
  std::vector<T> copy(size_t first, size_t count) const {
    std::vector<T> values(count);
    cuda::check(cudaMemcpy(values.data(), data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  size_t count_ = 0;
  T* data_ = nullptr;
};

constexpr int kPoison = 0xff;

}  // namespace octavo::bench
