// Opens devices by name. The one file of cpp/ that knows of cuda/.
#include <cctype>

#include "base/error.h"
#include "device/cpu_device.h"
#include "device/device.h"
#include "device/driver_allocation.h"

#ifdef OCTAVO_CUDA
#include "cuda/device/cuda_device.h"
#endif

namespace octavo {

namespace {

#ifndef OCTAVO_CUDA
std::shared_ptr<Device> openCudaDevice(int) {
  throw Error(ErrorCode::kNoCudaBuild, "this build of octavo has no CUDA code: run `npx octavo build` on a machine "
      "with nvcc, or open the device \"cpu\"");
}

CudaStatus cudaDeviceStatus() {
  CudaStatus status;
  status.problem = "this build of octavo has no CUDA code";
  return status;
}

std::vector<DeviceInfo> listCudaDevices() { return {}; }

std::vector<DriverAllocation> cudaDriverAllocations(int) { return {}; }
#endif

std::shared_ptr<Device> openCpu(int threads) { return std::make_shared<CpuDevice>(threads); }

/** The first CUDA device whose kernels run, or none. */
std::shared_ptr<Device> firstCudaDevice() {
  const size_t count = listCudaDevices().size();
  for (size_t index = 0; index < count; ++index) {
    try {
      auto device = openCudaDevice(static_cast<int>(index));
      device->verifyKernels();
      return device;
    } catch (const Error&) {
      continue;
    }
  }
  return nullptr;
}

/** The N of "cuda:N"; −1 when it is no such number. */
int cudaIndex(const std::string& id) {
  const std::string digits = id.substr(5);
  if (digits.empty() || digits.size() > 4) return -1;
  for (unsigned char digit : digits) {
    if (!std::isdigit(digit)) return -1;
  }
  return std::stoi(digits);
}

}  // namespace

CudaStatus cudaStatus() { return cudaDeviceStatus(); }

std::vector<DeviceInfo> listDevices() {
  std::vector<DeviceInfo> devices = {CpuDevice::describe(0)};
  for (DeviceInfo& info : listCudaDevices()) devices.push_back(std::move(info));
  return devices;
}

std::vector<DriverAllocation> driverAllocations(const std::string& device) {
  if (device == "cuda") return cudaDriverAllocations(0);
  const int index = device.rfind("cuda:", 0) == 0 ? cudaIndex(device) : -1;
  return index < 0 ? std::vector<DriverAllocation>{} : cudaDriverAllocations(index);
}

std::shared_ptr<Device> openDevice(const std::string& id, int threads) {
  if (id == "cpu") return openCpu(threads);
  if (id == "auto") {
    auto device = firstCudaDevice();
    return device ? device : openCpu(threads);
  }
  const int index = id == "cuda" ? 0 : (id.rfind("cuda:", 0) == 0 ? cudaIndex(id) : -1);
  if (index < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "\"" + id + "\" is not a device: expected \"cpu\", \"cuda\", \"cuda:N\" or \"auto\"");
  }
  auto device = openCudaDevice(index);
  device->verifyKernels();
  return device;
}

}  // namespace octavo
