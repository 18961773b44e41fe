#include "cuda/device/driver_calls.h"

#include <cuda_runtime_api.h>

namespace octavo::cuda {

namespace {

constexpr unsigned kSince = 12000;  // the oldest driver whose calls we know under these names

template <typename Call>
bool look(const char* name, Call& call) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &found, kSince, cudaEnableDefault, &result);
  if (status != cudaSuccess) cudaGetLastError();
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess || !found) return false;
  call = reinterpret_cast<Call>(found);
  return true;
}

struct Lookup {
  DriverCalls calls;
  bool complete = false;
};

Lookup lookUp() {
  Lookup made;
  DriverCalls& calls = made.calls;
  made.complete = look("cuDeviceGetAttribute", calls.deviceGetAttribute) &&
                  look("cuGetErrorName", calls.getErrorName) &&
                  look("cuMemGetAllocationGranularity", calls.getGranularity) &&
                  look("cuMemAddressReserve", calls.addressReserve) &&
                  look("cuMemAddressFree", calls.addressFree) && look("cuMemCreate", calls.create) &&
                  look("cuMemRelease", calls.release) && look("cuMemMap", calls.map) &&
                  look("cuMemUnmap", calls.unmap) && look("cuMemSetAccess", calls.setAccess);
  return made;
}

}  // namespace

const DriverCalls* DriverCalls::find() {
  static const Lookup found = lookUp();
  return found.complete ? &found.calls : nullptr;
}

}  // namespace octavo::cuda
