#include "engine/tuning.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "ops/ops.h"

namespace octavo {

namespace {

using Clock = std::chrono::steady_clock;

int64_t since(Clock::time_point begin) { return std::chrono::nanoseconds(Clock::now() - begin).count(); }

bool isOf(const TunedLinear& tuned, const LinearTrial& trial) {
  return tunedBucketOf(tuned.rows) == tunedBucketOf(trial.x.rows) && tuned.columns == trial.out.columns &&
         tuned.depth == trial.x.columns;
}

/** Numbers of the size that activations have: zeros take less power, and less time. */
void fillInput(Ops& ops, const Matrix& x, Stream& stream) {
  ops.fillRandom({RandomKind::kUniform, x.data, x.dtype, 0, x.rows * x.columns, 0, 0, 1}, stream);
}

/** Used from now on; false where nothing is known that the device would use. */
bool useKnown(Ops& ops, const LinearTrial& trial, const TuningOptions& options, TuningReport& report) {
  if (options.card != report.card || options.multiprocessors != report.multiprocessors) return false;
  for (const TunedLinear& tuned : options.known) {
    if (!isOf(tuned, trial) || !ops.keepTuned(tuned)) continue;
    report.products.push_back({tuned, true});
    return true;
  }
  return false;
}

}  // namespace

TuningReport tuneProducts(Device& device, const std::vector<LinearTrial>& trials, const TuningOptions& options,
                          const std::atomic<bool>& cancelled, Stream& stream) {
  TuningReport report;
  report.enabled = options.nanoseconds > 0;
  report.card = device.info().name;
  report.multiprocessors = device.info().multiprocessors;
  if (!report.enabled) return report;
  const Clock::time_point begin = Clock::now();
  Ops& ops = device.ops();
  for (LinearTrial trial : trials) {
    if (cancelled) throw Error(ErrorCode::kCancelled, "loading was cancelled");
    if (ops.linearTiles(trial.x.rows, trial.out.columns, trial.x.columns).size() < 2) continue;
    if (useKnown(ops, trial, options, report)) continue;
    trial.nanoseconds = std::max<int64_t>(0, options.nanoseconds - since(begin));
    if (trial.nanoseconds > 0) fillInput(ops, trial.x, stream);
    const LinearTuning tuning = ops.tuneLinear(trial, stream);
    if (!tuning.hasChoice) continue;
    if (tuning.isFinished) report.products.push_back({tuning.tuned, false});
    else ++report.unfinished;
  }
  stream.synchronize();
  report.nanoseconds = since(begin);
  return report;
}

}  // namespace octavo
