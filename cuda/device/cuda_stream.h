// Streams and events over the runtime API.
#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"

namespace octavo::cuda {

/** A non-blocking stream: never ordered with the legacy default stream. */
class CudaStream final : public Stream {
 public:
  CudaStream(int device, std::shared_ptr<ObjectCounts> counts);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  void synchronize() override;
  cudaStream_t handle() const { return handle_; }

 private:
  CountedObject counted_;
  int device_;
  cudaStream_t handle_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(int device, std::shared_ptr<ObjectCounts> counts);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(Stream& stream) override;
  bool query() override;
  void synchronize() override;

 private:
  CountedObject counted_;
  int device_;
  cudaEvent_t handle_ = nullptr;
};

/** The CUDA stream behind `stream`, which must come from a CUDA device. */
inline cudaStream_t handleOf(Stream& stream) { return static_cast<CudaStream&>(stream).handle(); }

}  // namespace octavo::cuda
