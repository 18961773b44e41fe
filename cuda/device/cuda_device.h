// The door from cpp/device/factory.cc into the CUDA build.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "device/driver_allocation.h"

namespace octavo {

/**
 * Opens CUDA device `index` and runs one kernel on it. Throws kNoDriver, kNoDevice, kKernelsUnavailable,
 * kDeviceFailed.
 */
std::shared_ptr<Device> openCudaDevice(int index);

/** What this build and this machine can do. Never throws. */
CudaStatus cudaDeviceStatus();

/** Every CUDA device the driver shows; empty without a driver. Never throws and creates no context. */
std::vector<DeviceInfo> listCudaDevices();

/** For benchmarks; the default memory pool of the device keeps what it has from now on. Throws kDeviceFailed. */
std::vector<DriverAllocation> cudaDriverAllocations(int index);

}  // namespace octavo
