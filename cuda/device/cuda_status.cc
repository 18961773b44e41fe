#include "cuda/device/cuda_status.h"

#include "base/error.h"
#include "cuda/device/build_architectures.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/cuda_device.h"

namespace octavo {
namespace cuda {
namespace {

int driverVersion() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) cudaGetLastError();
  return version;
}

int runtimeVersion() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess) cudaGetLastError();
  return version;
}

struct DeviceCount {
  int count = 0;
  ErrorCode code = ErrorCode::kNoDevice;
  std::string problem;  // empty when count > 0
};

// Without a driver the runtime answers "driver version is insufficient", so the version is asked first.
DeviceCount countDevices() {
  DeviceCount result;
  int driver = driverVersion();
  if (driver == 0) {
    result.code = ErrorCode::kNoDriver;
    result.problem = "there is no NVIDIA driver on this machine: install one, or use the device \"cpu\"";
    return result;
  }
  cudaError_t status = cudaGetDeviceCount(&result.count);
  if (status == cudaSuccess && result.count > 0) return result;
  cudaGetLastError();
  result.count = 0;
  if (status == cudaErrorInsufficientDriver) {
    result.code = ErrorCode::kKernelsUnavailable;
    result.problem = "the NVIDIA driver supports CUDA " + versionText(driver) + ", but this build needs CUDA " +
                     versionText(runtimeVersion()) + ": update the driver, or use the device \"cpu\"";
  } else if (status == cudaSuccess || status == cudaErrorNoDevice) {
    result.problem = "there is an NVIDIA driver (CUDA " + versionText(driver) +
                     ") but no device that this process may use: check CUDA_VISIBLE_DEVICES";
  } else {
    result.code = ErrorCode::kDeviceFailed;
    result.problem = std::string("the NVIDIA driver (CUDA ") + versionText(driver) +
                     ") cannot list its devices: " + cudaGetErrorString(status);
  }
  return result;
}

}  // namespace

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void requireDevice(int index) {
  DeviceCount devices = countDevices();
  if (devices.count == 0) throw Error(devices.code, devices.problem);
  if (index >= 0 && index < devices.count) return;
  throw Error(ErrorCode::kNoDevice,
              "there is no device cuda:" + std::to_string(index) + "; this machine has " +
                  std::to_string(devices.count) + " (cuda:0" +
                  (devices.count > 1 ? " to cuda:" + std::to_string(devices.count - 1) : "") + ")");
}

DeviceInfo describeDevice(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  DeviceInfo info;
  info.id = "cuda:" + std::to_string(index);
  info.name = properties.name;
  info.computeMajor = properties.major;
  info.computeMinor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.totalBytes = properties.totalGlobalMem;
  info.driverVersion = driverVersion();
  return info;
}

}  // namespace cuda

CudaStatus cudaDeviceStatus() {
  CudaStatus status;
  status.built = true;
  status.driverVersion = cuda::driverVersion();
  status.runtimeVersion = cuda::runtimeVersion();
  status.architectures = cuda::buildArchitectures();
  status.problem = cuda::countDevices().problem;
  return status;
}

std::vector<DeviceInfo> listCudaDevices() {
  std::vector<DeviceInfo> devices;
  int count = cuda::countDevices().count;
  for (int index = 0; index < count; ++index) {
    try {
      devices.push_back(cuda::describeDevice(index));
    } catch (const Error&) {  // a device that has fallen off the bus must not hide the others
    }
  }
  return devices;
}

}  // namespace octavo
