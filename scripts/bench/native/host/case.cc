#include "scripts/bench/native/host/case.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/engine.h"
#include "scripts/bench/native/host/caller.h"
#include "scripts/bench/native/host/model.h"
#include "scripts/bench/native/host/still_device.h"

namespace octavo::bench {

namespace {

std::unique_ptr<Engine> loadEngine(const HostCase& of, const std::shared_ptr<StillDevice>& device, Caller& caller) {
  const ModelSpec spec = llama8B();
  EngineOptions options;
  options.graphs = of.graphs;
  options.overlap = of.overlap;
  options.memoryLimit = device->info().totalBytes / 10 * 9;
  const size_t tokens = static_cast<size_t>(of.input + of.output() + options.blockSize) * of.batch;
  options.kvBytes = tokens * spec.layers.size() * 2 * sizeof(uint16_t) * 8 * 128;  // keys and values, heads, dim
  const std::atomic<bool> cancelled{false};
  return Engine::load(device, spec, dummyWeights(spec), options, [](LoadProgress) {}, cancelled,
                      [&caller] { caller.wake(); });
}

HostStages between(const EngineReport& before, const EngineReport& after) {
  const auto steps = static_cast<double>(std::max<uint64_t>(1, after.steps - before.steps));
  const auto of = [&](HostStage stage) {
    return static_cast<double>(after.times.of(stage) - before.times.of(stage)) / 1000 / steps;
  };
  return {of(HostStage::kPlan), of(HostStage::kUpload), of(HostStage::kLaunch), of(HostStage::kBook),
          of(HostStage::kTell)};
}

/** Of each stage by itself: what others do on this machine meets now one of them, now another. */
HostResult mediansOf(const std::vector<EngineReport>& reports) {
  std::vector<HostStages> windows;
  for (size_t end = 1; end < reports.size(); ++end) windows.push_back(between(reports[end - 1], reports[end]));
  HostResult result;
  for (size_t stage = 0; stage < kHostStages.size(); ++stage) {
    const auto byStage = [stage](const HostStages& a, const HostStages& b) { return a[stage] < b[stage]; };
    std::sort(windows.begin(), windows.end(), byStage);
    result.median[stage] = windows[windows.size() / 2][stage];
    result.least[stage] = windows.front()[stage];
  }
  return result;
}

}  // namespace

std::string HostCase::name() const {
  const std::string way = std::string(graphs ? "graphs" : "op by op") + (overlap ? ", overlap" : "");
  return "batch " + std::to_string(batch) + ", " + way;
}

HostResult runHostCase(const HostCase& of) {
  Caller caller;
  const auto device = std::make_shared<StillDevice>(of.stepNanoseconds);
  const auto engine = loadEngine(of, device, caller);
  caller.submit(*engine, of.batch, of.input, of.output());
  const int64_t first = caller.takeUntilAllDecode(*engine);
  const auto tokens = [&](int32_t windows) { return first + int64_t{of.batch} * of.windowSteps * windows; };
  std::vector<EngineReport> reports;
  reports.push_back(engine->report());
  const StillDevice::Counts began = device->counts;
  const uint64_t ops = device->ops().calls, wakes = caller.wakes();
  for (int32_t window = 0; window < of.windows; ++window) {
    caller.takeUntil(*engine, tokens(window + 1));
    reports.push_back(engine->report());
  }
  const StillDevice::Counts& ended = device->counts;
  const auto steps = static_cast<double>(reports.back().steps - reports.front().steps);
  HostResult result = mediansOf(reports);
  result.ops = static_cast<double>(device->ops().calls - ops) / steps;
  result.copies = static_cast<double>(ended.copies - began.copies) / steps;
  result.replays = static_cast<double>(ended.replays - began.replays) / steps;
  result.records = static_cast<double>(ended.records - began.records) / steps;
  result.waits = static_cast<double>(ended.waits - began.waits) / steps;
  result.maps = static_cast<double>(ended.maps - began.maps) / steps;
  result.wakes = static_cast<double>(caller.wakes() - wakes) / steps;
  caller.takeUntil(*engine, std::numeric_limits<int64_t>::max());
  caller.disposeSessions(*engine);
  engine->check();
  return result;
}

}  // namespace octavo::bench
