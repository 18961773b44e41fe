#include "cuda/device/cuda_graph.h"

#include <utility>

#include "base/error.h"
#include "cuda/device/cuda_check.h"

namespace octavo::cuda {

namespace {

/** A captured graph until it is instantiated. */
class Captured {
 public:
  ~Captured() {
    if (graph_) cudaGraphDestroy(graph_);
  }
  cudaGraph_t* place() { return &graph_; }
  cudaGraph_t get() const { return graph_; }

 private:
  cudaGraph_t graph_ = nullptr;
};

/** What a capture may not do, where the driver's word for it tells. */
const char* brokenRule(cudaError_t status) {
  switch (status) {
    case cudaErrorStreamCaptureUnsupported: return "it waited for the device or asked how far it is";
    case cudaErrorStreamCaptureInvalidated: return "an earlier call of the capture was refused";
    case cudaErrorStreamCaptureUnjoined: return "work that was forked to another stream was not joined";
    case cudaErrorStreamCaptureIsolation: return "it depends on work of another capture, or outside of it";
    case cudaErrorStreamCaptureImplicit: return "it used the legacy default stream";
    case cudaErrorStreamCaptureWrongThread: return "it ended on another thread than it began";
    default: return nullptr;
  }
}

void checkCapture(cudaError_t status) {
  const char* const rule = brokenRule(status);
  if (!rule) return check(status, "cudaStreamEndCapture");
  cudaGetLastError();
  throw Error(ErrorCode::kDeviceFailed, std::string("the steps of a graph could not be captured: ") + rule + " (" +
                                            cudaGetErrorName(status) + ")");
}

}  // namespace

CudaGraph::CudaGraph(int device, std::shared_ptr<ObjectCounts> counts, cudaGraph_t captured, CudaStream& stream)
    : counted_(std::move(counts), ObjectKind::kGraph), device_(device) {
  check(cudaGraphGetNodes(captured, nullptr, &nodes_), "cudaGraphGetNodes");
  check(cudaGraphInstantiate(&handle_, captured, 0), "cudaGraphInstantiate");
  cudaError_t status = cudaGraphUpload(handle_, stream.handle());
  if (status == cudaSuccess) return;
  cudaGraphExecDestroy(handle_);
  check(status, "cudaGraphUpload");
}

CudaGraph::~CudaGraph() {
  cudaSetDevice(device_);
  cudaGraphExecDestroy(handle_);
}

void CudaGraph::launch(Stream& stream) {
  check(cudaSetDevice(device_), "cudaSetDevice");
  check(cudaGraphLaunch(handle_, handleOf(stream)), "cudaGraphLaunch");
}

// Other threads of a Node process may call CUDA at any time: only this one's calls are held to the rules.
std::unique_ptr<Graph> captureGraph(int device, const std::shared_ptr<ObjectCounts>& counts, CudaStream& stream,
                                    const std::function<void()>& record) {
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaStreamBeginCapture(stream.handle(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  Captured captured;
  try {
    record();
  } catch (...) {
    cudaStreamEndCapture(stream.handle(), captured.place());
    cudaGetLastError();
    throw;
  }
  checkCapture(cudaStreamEndCapture(stream.handle(), captured.place()));
  return std::make_unique<CudaGraph>(device, counts, captured.get(), stream);
}

}  // namespace octavo::cuda
