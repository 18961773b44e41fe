// cudaMalloc and cudaMallocAsync as benchmarks call them.
#include "device/driver_allocation.h"

#include <cstdint>
#include <memory>

#include "cuda/device/cuda_check.h"
#include "cuda/device/cuda_device.h"
#include "cuda/device/cuda_stream.h"

namespace octavo {

std::vector<DriverAllocation> cudaDriverAllocations(int index) {
  using cuda::check;
  check(cudaSetDevice(index), "cudaSetDevice");
  const auto stream = std::make_shared<cuda::CudaStream>(index, std::make_shared<ObjectCounts>());
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, index), "cudaDeviceGetDefaultMemPool");
  uint64_t keep = UINT64_MAX;  // the pool at its best: it never gives memory back in between
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
  const auto takeAsync = [stream](size_t bytes) {
    void* data = nullptr;
    check(cudaMallocAsync(&data, bytes, stream->handle()), "cudaMallocAsync");
    return data;
  };
  const auto take = [](size_t bytes) {
    void* data = nullptr;
    check(cudaMalloc(&data, bytes), "cudaMalloc");
    return data;
  };
  const auto giveAsync = [stream](void* data) { check(cudaFreeAsync(data, stream->handle()), "cudaFreeAsync"); };
  const auto give = [](void* data) { check(cudaFree(data), "cudaFree"); };
  return {{"cudaMallocAsync", takeAsync, giveAsync}, {"cudaMalloc", take, give}};
}

}  // namespace octavo
