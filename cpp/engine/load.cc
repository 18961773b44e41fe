// Loading: validate, plan, then take memory, in that order.
#include "base/start_thread.h"
#include "engine/engine_state.h"
#include "engine/kv_identity.h"

namespace octavo {

namespace {

constexpr Region kArenas[] = {Region::kWeights, Region::kKv, Region::kGraph};

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
  if (lines.empty()) return;
  throw Error(ErrorCode::kInternal, "still held after everything was freed: " + describe(lines) +
                                        describeLive(allocator.trace().snapshot()));
}

std::unique_ptr<Engine> Engine::load(std::shared_ptr<Device> device, ModelSpec spec, WeightManifest manifest,
                                     EngineOptions options, std::function<void(LoadProgress)> progress,
                                     const std::atomic<bool>& cancelled, std::function<void()> onEvents,
                                     std::shared_ptr<Clock> clock) {
  std::unique_ptr<Engine> engine(new Engine());
  State& state = *engine->state_;
  state.options = options;
  state.spec = std::move(spec);
  if (options.testing.fakeClock) clock = std::make_shared<FakeClock>();
  state.clock = clock ? std::move(clock) : std::make_shared<SteadyClock>();
  state.onEvents = std::move(onEvents);
  state.allocator = DeviceAllocator::create(device);
  state.allocator->trace().configure(options.trace);
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
  plan = planMemory(PlanTarget::of(*device), spec, manifest, options);
  requireFit(plan);
  requireNotCancelled(cancelled);

  allocator->failAfter(options.testing.failAllocation);
  allocator->keepPinned(plan.pinnedLimitBytes);
  // What loading holds beside the weights goes before activations and KV come.
  setLimits(plan.loading);
  StreamOptions stream;
  stream.ringLimit = plan.pinnedLimitBytes;
  stream.mapFiles = plan.mapFiles;
  stream.failChunk = options.testing.failChunk;
  weights = std::make_unique<Weights>(Weights::load(*allocator, spec, manifest, plan.dtype, plan.keepFileDType,
                                                    progress, cancelled, stream));
  setLimits(plan.items);
  takeStepMemory();
  measureContext(manifest, cancelled);

  sessions = std::make_unique<SessionTable>(
      cache->pool(), *clock,
      SessionSettings{options.blockSize, options.eviction, options.prefix, PrefixHasher::randomKey(),
                      kvIdentity(spec, manifest, cache->shape())});
  const SchedulerLimits limits{plan.batch.maxSequences, plan.batch.maxTokens, plan.batch.maxLogitRows,
                               options.admission,
                               StepSampler::entries(plan.batch.maxSequences, plan.historyEntries)};
  scheduler = std::make_unique<Scheduler>(*sessions, limits);
  sizer = std::make_unique<BatchSizer>(BatchSizing{plan.batch.maxSequences, plan.batch.maxTokens, options.blockSize,
                                                   static_cast<int64_t>(plan.kvShape.tokenBytes()),
                                                   options.targetInterToken});
  if (options.targetInterToken == 0) pace = std::make_unique<PromptPace>(options.blockSize, plan.batch.maxTokens);
  requireNotCancelled(cancelled);
  watchHost(manifest);
  thread = startThread("run the engine's steps", [this] { loop(); });
}

/** The plan is the law: workspace and pinned hold what `current` (loading, or the items) gives them. */
void Engine::State::setLimits(const std::vector<PlanItem>& current) {
  for (const Region region : kArenas) allocator->setLimit(region, plan.regionBytes(region));
  for (const Region region : {Region::kWorkspace, Region::kPinned}) {
    size_t bytes = region == Region::kPinned ? options.testing.pinnedSpare : 0;
    for (const PlanItem& item : current) bytes += item.region == region ? item.bytes : 0;
    allocator->setLimit(region, bytes);
  }
}

}  // namespace octavo
