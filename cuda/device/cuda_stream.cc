#include "cuda/device/cuda_stream.h"

#include <utility>

#include "cuda/device/cuda_check.h"

namespace octavo::cuda {

CudaStream::CudaStream(int device, std::shared_ptr<ObjectCounts> counts)
    : counted_(std::move(counts), ObjectKind::kStream), device_(device) {
  check(cudaSetDevice(device_), "cudaSetDevice");
  check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

CudaStream::~CudaStream() {
  cudaSetDevice(device_);
  cudaStreamDestroy(handle_);
}

void CudaStream::synchronize() {
  check(cudaSetDevice(device_), "cudaSetDevice");
  check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize");
}

CudaEvent::CudaEvent(int device, std::shared_ptr<ObjectCounts> counts)
    : counted_(std::move(counts), ObjectKind::kEvent), device_(device) {
  check(cudaSetDevice(device_), "cudaSetDevice");
  check(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

CudaEvent::~CudaEvent() {
  cudaSetDevice(device_);
  cudaEventDestroy(handle_);
}

void CudaEvent::record(Stream& stream) {
  check(cudaSetDevice(device_), "cudaSetDevice");
  check(cudaEventRecord(handle_, handleOf(stream)), "cudaEventRecord");
}

bool CudaEvent::query() {
  check(cudaSetDevice(device_), "cudaSetDevice");
  cudaError_t status = cudaEventQuery(handle_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, "cudaEventQuery");
  return true;
}

void CudaEvent::synchronize() {
  check(cudaSetDevice(device_), "cudaSetDevice");
  check(cudaEventSynchronize(handle_), "cudaEventSynchronize");
}

}  // namespace octavo::cuda
