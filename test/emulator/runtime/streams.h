// Streams and graphs. What is put on a stream is done at once; on a stream that is captured, when the graph is launched.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <vector>

namespace octavo::emulator {

using Node = std::function<cudaError_t()>;

/** Does it, or records it. */
cudaError_t enqueue(cudaStream_t stream, Node work);

/** Whether the stream is being captured: then what waits for it fails, and the capture with it. */
cudaError_t refuseWait(cudaStream_t stream);

/** The same for calls that no thread may make which captures. */
cudaError_t refuseInCapture();

}  // namespace octavo::emulator
