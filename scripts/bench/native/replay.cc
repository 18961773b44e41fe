#include "scripts/bench/native/replay.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/device/cuda_check.h"

namespace octavo::bench {

namespace {

using cuda::check;

constexpr size_t kColdBytes = 300'000'000;  // several times any L2
constexpr double kGraphMicroseconds = 2000;  // long beside the distance of two events
constexpr int kMostNodes = 1024;

class Graph {
 public:
  Graph(int rotation, int rounds, const Launch& launch, cudaStream_t stream)
      : nodes_(rotation * rounds), stream_(stream) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int node = 0; node < nodes_; ++node) launch(node % rotation);
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "cudaGraphInstantiate");
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Graph() {
    cudaGraphExecDestroy(executable_);
    if (begin_) cudaEventDestroy(begin_);
    if (end_) cudaEventDestroy(end_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /** Microseconds a node of one replay. */
  double replay() {
    float milliseconds = 0;
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    check(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch");
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds * 1000.0 / nodes_;
  }

 private:
  int nodes_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

int roundsFor(int rotation, double microseconds) {
  const double rounds = std::ceil(kGraphMicroseconds / (microseconds * rotation));
  return static_cast<int>(std::clamp<double>(rounds, 1, std::max(1, kMostNodes / rotation)));
}

}  // namespace

int coldRotation(size_t bytes) {
  return static_cast<int>(std::max<size_t>(2, (kColdBytes + bytes - 1) / bytes));
}

double replayMicroseconds(int rotation, const Launch& launch, cudaStream_t stream, int replays) {
  double first = 0;
  {
    Graph one(rotation, 1, launch, stream);
    one.replay();  // the first replay uploads the graph
    first = one.replay();
  }
  Graph graph(rotation, roundsFor(rotation, first), launch, stream);
  graph.replay();
  std::vector<double> times;
  for (int i = 0; i < replays; ++i) times.push_back(graph.replay());
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace octavo::bench
