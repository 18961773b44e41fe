// The driver's calls that the runtime hands out by name: virtual memory, and descriptions of tensors.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <map>
#include <mutex>

#include "runtime/errors.h"
#include "runtime/memory.h"
#include "runtime/tensor_map.h"

namespace octavo::emulator {

namespace {

std::mutex mutex;
std::map<CUmemGenericAllocationHandle, size_t> handles;
CUmemGenericAllocationHandle nextHandle = 1;

CUresult getAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  if (attribute != CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) return CUDA_ERROR_INVALID_VALUE;
  *value = 1;
  return CUDA_SUCCESS;
}

CUresult getErrorName(CUresult status, const char** name) {
  switch (status) {
    case CUDA_SUCCESS: *name = "CUDA_SUCCESS"; break;
    case CUDA_ERROR_INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case CUDA_ERROR_OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    default: *name = "CUDA_ERROR_UNKNOWN"; break;
  }
  return CUDA_SUCCESS;
}

CUresult getGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = kMemoryPage;
  return CUDA_SUCCESS;
}

CUresult addressReserve(CUdeviceptr* base, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  if (bytes == 0 || bytes % kMemoryPage) return CUDA_ERROR_INVALID_VALUE;
  uint8_t* const at = reserve(bytes);
  *base = reinterpret_cast<CUdeviceptr>(at);
  return at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult addressFree(CUdeviceptr base, size_t bytes) {
  releaseAddresses(reinterpret_cast<uint8_t*>(base), bytes);
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*, unsigned long long) {
  if (bytes == 0 || bytes % kMemoryPage) return CUDA_ERROR_INVALID_VALUE;
  if (!take(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(mutex);
  *handle = nextHandle++;
  handles[*handle] = bytes;
  return CUDA_SUCCESS;
}

CUresult releaseHandle(CUmemGenericAllocationHandle handle) {
  std::lock_guard lock(mutex);
  const auto found = handles.find(handle);
  if (found == handles.end()) return CUDA_ERROR_INVALID_VALUE;
  giveBack(found->second);
  handles.erase(found);
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr at, size_t bytes, size_t, CUmemGenericAllocationHandle, unsigned long long) {
  return place(reinterpret_cast<uint8_t*>(at), bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult unmap(CUdeviceptr at, size_t bytes) {
  displace(reinterpret_cast<uint8_t*>(at), bytes);
  return CUDA_SUCCESS;
}

CUresult setAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }

struct Entry {
  const char* name;
  void* call;
};

/** Of the type that the driver declares. */
template <class Call>
Entry entry(const char* name, Call* emulated) {
  return {name, reinterpret_cast<void*>(emulated)};
}

const Entry kEntries[] = {
    entry<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute", getAttribute),
    entry<decltype(cuGetErrorName)>("cuGetErrorName", getErrorName),
    entry<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity", getGranularity),
    entry<decltype(cuMemAddressReserve)>("cuMemAddressReserve", addressReserve),
    entry<decltype(cuMemAddressFree)>("cuMemAddressFree", addressFree),
    entry<decltype(cuMemCreate)>("cuMemCreate", create),
    entry<decltype(cuMemRelease)>("cuMemRelease", releaseHandle),
    entry<decltype(cuMemMap)>("cuMemMap", map),
    entry<decltype(cuMemUnmap)>("cuMemUnmap", unmap),
    entry<decltype(cuMemSetAccess)>("cuMemSetAccess", setAccess),
    entry<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled", encodeTensorMap),
};

}  // namespace

}  // namespace octavo::emulator

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** call, unsigned, unsigned long long,
                                                        cudaDriverEntryPointQueryResult* result) {
  *call = nullptr;
  for (const auto& entry : octavo::emulator::kEntries) {
    if (std::strcmp(entry.name, name) == 0) *call = entry.call;
  }
  *result = *call ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
