// The driver's virtual memory calls, found at run time: the driver library is never linked.
#pragma once

#include <cuda.h>

namespace octavo::cuda {

struct DriverCalls {
  decltype(&cuDeviceGetAttribute) deviceGetAttribute = nullptr;
  decltype(&cuGetErrorName) getErrorName = nullptr;
  decltype(&cuMemGetAllocationGranularity) getGranularity = nullptr;
  decltype(&cuMemAddressReserve) addressReserve = nullptr;
  decltype(&cuMemAddressFree) addressFree = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) setAccess = nullptr;

  /** All of them; nullptr when this driver lacks one. */
  static const DriverCalls* find();
};

}  // namespace octavo::cuda
