// A plan is measured as it will run: launches with one weight after the other, recorded as a graph, so that neither the
// host's pace nor a weight that is still in the L2 is measured. As many launches as take the L2's size several times, but
// no more than a millisecond's work; the median of three replays counts.
//
// The plans that are predicted within kNear of the best are measured, the predicted one first. Another takes its place
// where it needs kGain less time. Where it divides K, and the predicted one does not, it must be kDivision times as fast.
#include "cuda/gemm/linear_tuner.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "cuda/device/cuda_check.h"
#include "cuda/gemm/linear.h"

namespace octavo::cuda {

namespace {

constexpr double kNear = 1.35;             // times the best prediction: what is measured
constexpr double kGain = 0.98;             // times what the predicted plan takes: what another must reach
constexpr double kReplayMicroseconds = 1000;
constexpr double kColdBytes = 256e6;       // of weights, read before the first of them comes again
constexpr int kMostLaunches = 64, kLeastLaunches = 2, kReplays = 3;

class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    check(cudaEventCreateWithFlags(&begin_, cudaEventDefault), "cudaEventCreateWithFlags");
    const cudaError_t status = cudaEventCreateWithFlags(&end_, cudaEventDefault);
    if (status != cudaSuccess) cudaEventDestroy(begin_);
    check(status, "cudaEventCreateWithFlags");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  template <typename Work>
  double microseconds(const Work& work) {
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    work();
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds * 1e3;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/** Launches that were recorded. */
class Recording {
 public:
  template <typename Work>
  Recording(cudaStream_t stream, const Work& work) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "cudaGraphInstantiate");
  }
  ~Recording() { cudaGraphExecDestroy(graph_); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void replay() const { check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

struct Measured {
  LinearPlan plan;
  double microseconds = 0;

  /** As plans are compared. */
  double weighed() const { return microseconds * (plan.sharing == TileSharing::kDepth ? kDivision : 1); }
};

/** The predicted one first, then the others from the best prediction. */
std::vector<LinearPlan> candidates(const LinearShape& shape, const DeviceTraits& traits) {
  const LinearPlan best = planLinear(shape, traits);
  std::vector<LinearPlan> plans = linearPlans(shape, traits);
  std::erase_if(plans, [&](const LinearPlan& plan) {
    const bool isBarred = plan.sharing == TileSharing::kDepth && !mayDivideDepth(shape.rows);
    return isBarred || plan.clocks > kNear * best.clocks || plan == best;
  });
  std::stable_sort(plans.begin(), plans.end(),
                   [](const LinearPlan& left, const LinearPlan& right) { return left.clocks < right.clocks; });
  plans.insert(plans.begin(), best);
  return plans;
}

int launchesOf(const LinearTrial& trial, double microseconds) {
  const Matrix& weight = trial.weights.front();
  const double bytes = static_cast<double>(weight.rows) * static_cast<double>(weight.stride) * 2;
  const double wanted = std::min(kColdBytes / bytes, kReplayMicroseconds / std::max(microseconds, 1.0));
  return std::clamp(static_cast<int>(wanted) + 1, kLeastLaunches, kMostLaunches);
}

Measured measure(const LinearTrial& trial, const LinearPlan& plan, const DeviceTraits& traits, Timer& timer,
                 cudaStream_t stream) {
  const auto launch = [&](int turn) {
    const Matrix& weight = trial.weights[static_cast<size_t>(turn) % trial.weights.size()];
    launchPlanned(trial.out, trial.x, weight, {}, plan, traits, stream);
  };
  launch(0);  // loads the kernel
  const int launches = launchesOf(trial, timer.microseconds([&] { launch(1); }));
  const Recording recording(stream, [&] {
    for (int turn = 0; turn < launches; ++turn) launch(turn);
  });
  double times[kReplays];
  for (double& time : times) time = timer.microseconds([&] { recording.replay(); }) / launches;
  std::sort(std::begin(times), std::end(times));
  return {plan, times[kReplays / 2]};
}

}  // namespace

LinearTuning tuneLinear(const LinearTrial& trial, const DeviceTraits& traits, cudaStream_t stream) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::nanoseconds(trial.nanoseconds);
  if (trial.weights.empty() || !canPlan(trial.x, trial.weights.front())) return {};
  const LinearShape shape{trial.x.rows, trial.out.columns, trial.x.columns};
  if (tunedBucketOf(shape.rows) == std::size(kTunedRows)) return {};
  const std::vector<LinearPlan> plans = candidates(shape, traits);
  LinearTuning tuning;
  tuning.hasChoice = plans.size() > 1;
  if (!tuning.hasChoice) return tuning;

  Timer timer(stream);
  std::vector<Measured> measured;
  for (const LinearPlan& plan : plans) {
    if (Clock::now() >= deadline) {
      tuning.isFinished = false;
      return tuning;
    }
    measured.push_back(measure(trial, plan, traits, timer, stream));
  }
  const Measured& predicted = measured.front();
  const Measured& fastest = *std::min_element(
      measured.begin(), measured.end(),
      [](const Measured& left, const Measured& right) { return left.weighed() < right.weighed(); });
  const Measured& chosen = fastest.weighed() <= kGain * predicted.weighed() ? fastest : predicted;
  tuning.tuned = {shape.rows,          shape.columns,          shape.depth, chosen.plan,
                  chosen.microseconds, predicted.microseconds, static_cast<int32_t>(measured.size())};
  return tuning;
}

}  // namespace octavo::cuda
