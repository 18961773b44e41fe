// Captured graphs over the runtime API.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "cuda/device/cuda_stream.h"
#include "device/graph.h"

namespace octavo::cuda {

class CudaGraph final : public Graph {
 public:
  /** Instantiates what was captured and uploads it, so that the first launch costs what the others do. */
  CudaGraph(int device, std::shared_ptr<ObjectCounts> counts, cudaGraph_t captured, CudaStream& stream);
  ~CudaGraph() override;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  void launch(Stream& stream) override;
  size_t nodes() const override { return nodes_; }

 private:
  CountedObject counted_;
  int device_;
  size_t nodes_ = 0;
  cudaGraphExec_t handle_ = nullptr;
};

/** See Device::capture. */
std::unique_ptr<Graph> captureGraph(int device, const std::shared_ptr<ObjectCounts>& counts, CudaStream& stream,
                                    const std::function<void()>& record);

}  // namespace octavo::cuda
