#include "runtime/streams.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/errors.h"

using octavo::emulator::Node;

struct CUgraph_st {
  std::vector<Node> nodes;
};

struct CUgraphExec_st {
  std::vector<Node> nodes;
};

struct CUstream_st {
  CUgraph_st* capture = nullptr;
  bool isInvalid = false;  // the capture
  std::thread::id by;
};

struct CUevent_st {
  std::chrono::steady_clock::time_point recorded;
};

namespace octavo::emulator {

namespace {

thread_local CUstream_st* capturing = nullptr;

cudaError_t invalidate(CUstream_st& stream) {
  stream.isInvalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace

cudaError_t enqueue(cudaStream_t stream, Node work) {
  if (!stream || !stream->capture) return report(work());
  if (stream->isInvalid) return report(cudaErrorStreamCaptureInvalidated);
  stream->capture->nodes.push_back(std::move(work));
  return cudaSuccess;
}

cudaError_t refuseWait(cudaStream_t stream) {
  return stream && stream->capture ? invalidate(*stream) : cudaSuccess;
}

cudaError_t refuseInCapture() { return capturing ? invalidate(*capturing) : cudaSuccess; }

}  // namespace octavo::emulator

using namespace octavo::emulator;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream->capture) delete stream->capture;
  if (capturing == stream) capturing = nullptr;
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return report(refuseWait(stream)); }
cudaError_t cudaDeviceSynchronize() { return report(refuseInCapture()); }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (stream->capture || mode != cudaStreamCaptureModeThreadLocal) return report(cudaErrorIllegalState);
  stream->capture = new CUgraph_st;
  stream->isInvalid = false;
  stream->by = std::this_thread::get_id();
  capturing = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!stream->capture) return report(cudaErrorIllegalState);
  if (stream->by != std::this_thread::get_id()) return report(cudaErrorStreamCaptureWrongThread);
  CUgraph_st* const captured = stream->capture;
  stream->capture = nullptr;
  capturing = nullptr;
  if (stream->isInvalid) {
    delete captured;
    return report(cudaErrorStreamCaptureInvalidated);
  }
  *graph = captured;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (nodes) return report(cudaErrorInvalidValue);  // the number alone
  *count = graph->nodes.size();
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = new CUgraphExec_st{graph->nodes};
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  for (const Node& node : graph->nodes) {
    if (cudaError_t status = enqueue(stream, node); status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->recorded = std::chrono::steady_clock::now();
  return cudaSuccess;
}

/** Of the emulation, not of a card. */
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->recorded - begin->recorded).count();
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t) { return report(refuseInCapture()); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return report(refuseInCapture()); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return enqueue(stream, [=] {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return enqueue(stream, [=] {
    std::memset(to, value, bytes);
    return cudaSuccess;
  });
}

}
