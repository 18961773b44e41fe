#include "cuda/device/virtual_memory.h"

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/driver_calls.h"

namespace octavo::cuda {

namespace {

CUmemAllocationProp propertiesOf(int index) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = index;
  return properties;
}

class DeviceRange final : public AddressRange {
 public:
  DeviceRange(const DriverCalls& driver, int index, CUdeviceptr base, size_t pages)
      : driver_(driver), index_(index), base_(base), handles_(pages, 0) {}

  ~DeviceRange() override {
    cudaSetDevice(index_);
    for (size_t page = 0; page < handles_.size(); ++page) {
      if (handles_[page]) unmap(page, 1);
    }
    driver_.addressFree(base_, handles_.size() * kPageBytes);
  }

  void* base() const override { return reinterpret_cast<void*>(base_); }
  size_t pages() const override { return handles_.size(); }

  bool map(size_t first, size_t count) override {
    cudaSetDevice(index_);
    size_t mapped = 0;
    CUresult status = CUDA_SUCCESS;
    while (mapped < count && (status = mapPage(first + mapped)) == CUDA_SUCCESS) ++mapped;
    if (status == CUDA_SUCCESS) status = grantAccess(first, count);
    if (status == CUDA_SUCCESS) return true;
    unmap(first, mapped);
    if (status == CUDA_ERROR_OUT_OF_MEMORY) return false;
    throw failure(status);
  }

  void unmap(size_t first, size_t count) noexcept override {
    if (count == 0) return;
    cudaSetDevice(index_);
    driver_.unmap(addressOf(first), count * kPageBytes);
    for (size_t page = first; page < first + count; ++page) {
      driver_.release(handles_[page]);
      handles_[page] = 0;
    }
  }

 private:
  CUdeviceptr addressOf(size_t page) const { return base_ + page * kPageBytes; }

  CUresult mapPage(size_t page) {
    const CUmemAllocationProp properties = propertiesOf(index_);
    CUmemGenericAllocationHandle handle = 0;
    CUresult status = driver_.create(&handle, kPageBytes, &properties, 0);
    if (status != CUDA_SUCCESS) return status;
    status = driver_.map(addressOf(page), kPageBytes, 0, handle, 0);
    if (status == CUDA_SUCCESS) handles_[page] = handle;
    else driver_.release(handle);
    return status;
  }

  /** One call for the run: on an H200 28 µs for a page alone, far less a page together. */
  CUresult grantAccess(size_t first, size_t count) {
    CUmemAccessDesc access{};
    access.location = propertiesOf(index_).location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return driver_.setAccess(addressOf(first), count * kPageBytes, &access, 1);
  }

  Error failure(CUresult status) const {
    const char* name = nullptr;
    driver_.getErrorName(status, &name);
    return {ErrorCode::kDeviceFailed, std::string("CUDA failed to map pages of cuda:") + std::to_string(index_) +
                                          ": " + (name ? name : "error " + std::to_string(status))};
  }

  const DriverCalls& driver_;
  int index_;
  CUdeviceptr base_;
  std::vector<CUmemGenericAllocationHandle> handles_;  // by page; 0: not mapped
};

}  // namespace

bool canMapPages(int index) {
  const DriverCalls* driver = DriverCalls::find();
  if (!driver) return false;
  int supported = 0;
  const auto attribute = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
  if (driver->deviceGetAttribute(&supported, attribute, index) != CUDA_SUCCESS || !supported) return false;
  const CUmemAllocationProp properties = propertiesOf(index);
  size_t granularity = 0;
  const CUresult status =
      driver->getGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  return status == CUDA_SUCCESS && granularity > 0 && kPageBytes % granularity == 0;
}

std::unique_ptr<AddressRange> reserveDeviceRange(int index, size_t pages) {
  const DriverCalls& driver = *DriverCalls::find();
  check(cudaSetDevice(index), "cudaSetDevice");
  CUdeviceptr base = 0;
  const bool representable = pages > 0 && pages <= SIZE_MAX / kPageBytes;
  if (!representable || driver.addressReserve(&base, pages * kPageBytes, kPageBytes, 0, 0) != CUDA_SUCCESS) {
    return nullptr;
  }
  return std::make_unique<DeviceRange>(driver, index, base, pages);
}

}  // namespace octavo::cuda
