// Loading: validate, plan, then take memory, in that order.
#include "engine/engine_state.h"

namespace octavo {

namespace {

constexpr Region kPlanned[] = {Region::kWeights, Region::kKv, Region::kGraph};

std::string describe(const std::vector<LedgerLine>& lines) {
  std::string text;
  for (const LedgerLine& line : lines) {
    text += std::string(text.empty() ? "" : ", ") + regionName(line.region) + " / " +
            ownerKindName(line.owner.kind) + " " + std::to_string(line.owner.id) + " / " + line.tag + " " +
            std::to_string(line.bytes) + " bytes";
  }
  return text;
}

void requireNotCancelled(const std::atomic<bool>& cancelled) {
  if (cancelled) throw Error(ErrorCode::kCancelled, "loading was cancelled");
}

}  // namespace

void requireEmpty(DeviceAllocator& allocator) {
  allocator.check();
  const std::vector<LedgerLine> lines = allocator.ledger().lines();
  if (!lines.empty()) throw Error(ErrorCode::kInternal, "still held after everything was freed: " + describe(lines));
}

std::unique_ptr<Engine> Engine::load(std::shared_ptr<Device> device, ModelSpec spec, WeightManifest manifest,
                                     EngineOptions options, std::function<void(LoadProgress)> progress,
                                     const std::atomic<bool>& cancelled, std::function<void()> onEvents,
                                     std::shared_ptr<Clock> clock) {
  std::unique_ptr<Engine> engine(new Engine());
  State& state = *engine->state_;
  state.options = options;
  state.spec = std::move(spec);
  state.clock = clock ? std::move(clock) : std::make_shared<SteadyClock>();
  state.onEvents = std::move(onEvents);
  state.allocator = DeviceAllocator::create(device);
  const std::shared_ptr<DeviceAllocator> allocator = state.allocator;
  try {
    state.open(std::move(device), manifest, progress, cancelled);
  } catch (...) {
    engine.reset();
    requireEmpty(*allocator);
    throw;
  }
  return engine;
}

void Engine::State::open(std::shared_ptr<Device> device, const WeightManifest& manifest,
                         const std::function<void(LoadProgress)>& progress,
                         const std::atomic<bool>& cancelled) {
  device->verifyKernels();
  spec.validate();
  manifest.validate(spec);
  plan = planMemory(*device, spec, manifest, options);
  requireNotCancelled(cancelled);

  allocator->failAfter(options.testing.failAllocation);
  // Until activations and KV are taken, the weights' conversion may use their room.
  setLimits(plan.roomBytes - plan.regionBytes(Region::kWeights));
  weights = std::make_unique<Weights>(Weights::load(*allocator, spec, manifest, plan.dtype, plan.keepFileDType,
                                                    progress, cancelled));
  cache = std::make_unique<KvCache>(*allocator, plan.kvShape, plan.kvBlocks);
  runner = std::make_unique<StepRunner>(*allocator, spec, *weights, *cache, plan);
  allocator->failAfter(0);
  setLimits(0);
  allocator->setLimit(Region::kPinned, allocator->statistics(Region::kPinned).allocatedBytes);

  sessions = std::make_unique<SessionTable>(cache->pool(), options.blockSize);
  const SchedulerLimits limits{plan.batch.maxSequences, plan.batch.maxTokens, plan.batch.maxLogitRows};
  scheduler = std::make_unique<Scheduler>(*sessions, limits);
  requireNotCancelled(cancelled);
  thread = std::thread([this] { loop(); });
}

void Engine::State::setLimits(size_t workspaceBytes) {
  for (const Region region : kPlanned) allocator->setLimit(region, plan.regionBytes(region));
  allocator->setLimit(Region::kWorkspace, workspaceBytes);
}

}  // namespace octavo
