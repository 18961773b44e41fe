#include "cuda/device/cuda_device.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "cuda/device/build_architectures.h"
#include "cuda/device/card.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/cuda_graph.h"
#include "cuda/device/cuda_ops.h"
#include "cuda/device/cuda_status.h"
#include "cuda/device/cuda_stream.h"
#include "cuda/device/nvml.h"
#include "cuda/device/verify_kernel.h"
#include "cuda/device/virtual_memory.h"
#include "device/host_range.h"
#include "device/page_mapping.h"

namespace octavo {
namespace cuda {
namespace {

std::string pciBusId(int index) {
  char text[32] = {};
  check(cudaDeviceGetPCIBusId(text, sizeof(text), index), "cudaDeviceGetPCIBusId");
  return text;
}

// The statuses that mean "this code cannot run here", as opposed to a device that is broken.
bool isKernelUnavailable(cudaError_t status) {
  switch (status) {
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
    case cudaErrorInvalidDeviceFunction:
      return true;
    default:
      return false;
  }
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index), info_(describeDevice(index)), busId_(pciBusId(index)) {
    use();
    check(cudaFree(nullptr), "the creation of a context");
  }

  const DeviceInfo& info() const override { return info_; }
  DeviceMemoryUse memoryUse() override;
  void* allocateRaw(size_t bytes) override;
  void freeRaw(void* pointer, size_t bytes) noexcept override;
  std::unique_ptr<AddressRange> reserveAddresses(size_t pages) override;
  void* allocatePinnedRaw(size_t bytes) override;
  void freePinnedRaw(void* pointer, size_t bytes) noexcept override;
  std::unique_ptr<Stream> createStream() override { return std::make_unique<CudaStream>(index_, objects()); }
  std::unique_ptr<Event> createEvent() override { return std::make_unique<CudaEvent>(index_, objects()); }
  std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& record) override {
    return captureGraph(index_, objects(), static_cast<CudaStream&>(stream), record);
  }
  void copy(void* to, const void* from, size_t bytes, CopyKind kind, Stream& stream) override;
  void fill(void* to, uint8_t value, size_t bytes, Stream& stream) override;
  void synchronize() override;
  Ops& ops() override;
  void verifyKernels() override;

 private:
  // CUDA's current device is a property of the calling thread, and any thread may call.
  void use() const { check(cudaSetDevice(index_), "cudaSetDevice"); }

  int index_;
  DeviceInfo info_;
  std::string busId_;
  std::unique_ptr<CudaOps> ops_;
};

DeviceMemoryUse CudaDevice::memoryUse() {
  use();
  DeviceMemoryUse report;
  check(cudaMemGetInfo(&report.freeBytes, &report.totalBytes), "cudaMemGetInfo");
  report.processBytes = processMemoryBytes(busId_);
  return report;
}

void* CudaDevice::allocateRaw(size_t bytes) {
  use();
  void* pointer = nullptr;
  cudaError_t status = cudaMalloc(&pointer, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "cudaMalloc");
  return pointer;
}

// A free must not throw; a failure here means the device is lost and the next call reports it.
void CudaDevice::freeRaw(void* pointer, size_t) noexcept {
  cudaSetDevice(index_);
  if (cudaFree(pointer) != cudaSuccess) cudaGetLastError();
}

std::unique_ptr<AddressRange> CudaDevice::reserveAddresses(size_t pages) {
  if (isPageMappingAllowed() && canMapPages(index_)) return reserveDeviceRange(index_, pages);
  return reserveWholeRange(*this, pages);
}

void* CudaDevice::allocatePinnedRaw(size_t bytes) {
  use();
  void* pointer = nullptr;
  cudaError_t status = cudaHostAlloc(&pointer, bytes, cudaHostAllocDefault);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "cudaHostAlloc");
  objects()->add(ObjectKind::kPinned);
  return pointer;
}

void CudaDevice::freePinnedRaw(void* pointer, size_t) noexcept {
  cudaSetDevice(index_);
  if (cudaFreeHost(pointer) != cudaSuccess) cudaGetLastError();
  objects()->remove(ObjectKind::kPinned);
}

void CudaDevice::copy(void* to, const void* from, size_t bytes, CopyKind kind, Stream& stream) {
  if (bytes == 0) return;
  use();
  cudaMemcpyKind direction = kind == CopyKind::kHostToDevice   ? cudaMemcpyHostToDevice
                             : kind == CopyKind::kDeviceToHost ? cudaMemcpyDeviceToHost
                                                               : cudaMemcpyDeviceToDevice;
  check(cudaMemcpyAsync(to, from, bytes, direction, handleOf(stream)), "cudaMemcpyAsync");
}

void CudaDevice::fill(void* to, uint8_t value, size_t bytes, Stream& stream) {
  if (bytes == 0) return;
  use();
  check(cudaMemsetAsync(to, value, bytes, handleOf(stream)), "cudaMemsetAsync");
}

void CudaDevice::synchronize() {
  use();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

Ops& CudaDevice::ops() {
  if (!ops_) throw Error(ErrorCode::kInternal, "the kernels of " + info_.id + " were used before they were verified");
  return *ops_;
}

void CudaDevice::verifyKernels() {
  CudaStream stream(index_, objects());
  auto refuse = [this](const std::string& reason) {
    return Error(ErrorCode::kKernelsUnavailable,
                 "the kernels of this build (" + buildArchitectures() + ") do not run on " + info_.id + " (" +
                     info_.name + ", compute capability " + std::to_string(info_.computeMajor) + "." +
                     std::to_string(info_.computeMinor) + ", driver for CUDA " + versionText(info_.driverVersion) +
                     "): " + reason + "; update the driver, build octavo for this device, or use the device \"cpu\"");
  };
  uint32_t values[kVerifyCount] = {};
  void* memory = allocateRaw(sizeof(values));
  if (!memory) {
    throw Error(ErrorCode::kOutOfMemory, info_.id + " has not even 1 KiB of free memory to verify its kernels with");
  }
  cudaError_t status = launchVerify(static_cast<uint32_t*>(memory), stream.handle());
  if (status == cudaSuccess) {
    status = cudaMemcpyAsync(values, memory, sizeof(values), cudaMemcpyDeviceToHost, stream.handle());
  }
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream.handle());
  cudaGetLastError();
  freeRaw(memory, sizeof(values));
  if (isKernelUnavailable(status)) throw refuse(cudaGetErrorString(status));
  check(status, "the verification kernel");
  for (int i = 0; i < kVerifyCount; ++i) {
    if (values[i] != expectedVerifyValue(i)) {
      throw refuse("element " + std::to_string(i) + " of the test kernel is " + std::to_string(values[i]) +
                   ", not " + std::to_string(expectedVerifyValue(i)));
    }
  }
  if (ops_) return;
  DeviceTraits traits{loadedArchitecture(), info_.multiprocessors};
  traits.card = cardOfDevice(index_, info_.name, info_.computeMajor);
  ops_ = std::make_unique<CudaOps>(index_, traits);
}

}  // namespace
}  // namespace cuda

std::shared_ptr<Device> openCudaDevice(int index) {
  cuda::requireDevice(index);
  auto device = std::make_shared<cuda::CudaDevice>(index);
  device->verifyKernels();
  return device;
}

}  // namespace octavo
