// Host arrays of one op call, copied to its device.
#pragma once

#include <vector>

#include "binding/ops_table.h"

namespace octavo {

/** Device copies that live until this object does; the destructor waits for the work that reads them. */
class Upload {
 public:
  explicit Upload(OpenDevice& device) : device_(device) {}
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  /** The device address of a copy of `values`; `values` must live as long. nullptr when empty. Throws kOutOfMemory. */
  template <typename T>
  T* copy(const std::vector<T>& values) {
    return static_cast<T*>(copyBytes(values.data(), values.size() * sizeof(T)));
  }
  /** Uninitialised device memory for `count` results. */
  template <typename T>
  T* results(size_t count) {
    return static_cast<T*>(allocate(count * sizeof(T)));
  }
  /** Device memory of zeros; nullptr for 0 bytes. Throws kOutOfMemory. */
  void* zeros(size_t bytes);
  /** Waits, then brings results back. */
  template <typename T>
  void fetch(T* to, const T* from, size_t count) {
    fetchBytes(to, from, count * sizeof(T));
  }

 private:
  void* allocate(size_t bytes);
  void* copyBytes(const void* from, size_t bytes);
  void fetchBytes(void* to, const void* from, size_t bytes);

  OpenDevice& device_;
  std::vector<ResourceAllocation> allocations_;
};

}  // namespace octavo
