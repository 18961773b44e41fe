// The last act of a load: kernels are loaded by being run, so the driver's own share is known only then.
#include <algorithm>
#include <numeric>

#include "engine/engine_state.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

/** Two requests that between them reach every branch of the sampler. */
Request warmUpRequest(const ModelSpec& spec, int32_t tokens, bool greedy) {
  Request request;
  request.spec.prompt.resize(static_cast<size_t>(tokens));
  request.spec.maxNewTokens = 1;
  request.spec.sampling.temperature = greedy ? 0.0f : 0.8f;
  if (!greedy) {
    request.spec.sampling.topK = 40;
    request.spec.sampling.topP = 0.9f;
    request.spec.sampling.repetitionPenalty = 1.1f;
  }
  request.spec.topLogprobs = greedy ? 0 : 1;
  request.prepare(spec.vocabularySize);
  return request;
}

}  // namespace

/** One step over `count` tokens of a session whose blocks these are. */
void Engine::State::warmUpStep(const Session& session, int32_t start, int32_t count, bool greedy) {
  const Request request = warmUpRequest(spec, start + count, greedy);
  runner->begin();
  runner->add({0, nullptr, start, count, LogitsWanted::kLast}, request, session);
  runner->seal();
  runner->launch();
  runner->wait();
}

/** A prefill as large as the pool and a step allow, and a decode, in blocks that are given back. */
void Engine::State::warmUp() {
  BlockPool& pool = cache->pool();
  const int64_t room = std::min<int64_t>(pool.free() * options.blockSize, spec.contextLength);
  const auto count = static_cast<int32_t>(std::min<int64_t>(plan.batch.maxTokens, room - 1));
  if (count < 1) return;
  Session session;
  if (!pool.take(kEngine, plan.blocksOf(count + 1), session.blocks)) return;
  try {
    for (const bool greedy : {true, false}) {
      warmUpStep(session, 0, count, greedy);
      warmUpStep(session, count, 1, greedy);
      warmUpStep(session, 0, std::min<int32_t>(count, 2 * kMostFusedRows), greedy);
    }
  } catch (...) {
    pool.release(kEngine, session.blocks, 0);
    throw;
  }
  pool.release(kEngine, session.blocks, 0);
  pool.trim(0);
}

void Engine::State::takeStepMemory() {
  cache = std::make_unique<KvCache>(*allocator, plan.kvShape, plan.kvBlocks, !options.testing.inelasticKv);
  runner = std::make_unique<StepRunner>(*allocator, spec, *weights, *cache, plan);
}

/**
 * Runs the kernels, those that are measured too, measures the context again, and plans again when it grew: a KV cache of
 * automatic size then shrinks, one that was asked for is refused by `requireFit` if it no longer fits. What was measured
 * the device keeps.
 */
void Engine::State::measureContext(const WeightManifest& manifest, const std::atomic<bool>& cancelled) {
  contextBytes = plan.contextBytes;
  Device& device = allocator->device();
  const bool warms = !device.sharesHostMemory() || options.testing.warmUp;
  if (warms) warmUp();
  tuning = runner->tune(options.tuning, cancelled);
  runner->captureGraphs(options.testing.failGraph);
  if (!warms) return;
  device.synchronize();
  if (device.sharesHostMemory()) {  // whatever else the process holds is not the engine's
    contextBytes += options.testing.contextGrowth;
  } else {
    const size_t counted = countedBytes(device.memoryUse());
    contextBytes = counted - std::min(counted, deviceBytes());
  }
  if (contextBytes <= plan.contextBytes) return;
  PlanTarget target = plan.target;
  target.freeBytes -= std::min(target.freeBytes, contextBytes - plan.contextBytes);
  target.contextBytes = contextBytes;
  MemoryPlan again = planAgain(plan, target, spec, manifest, options);
  requireFit(again);
  const bool same = again.kvBlocks == plan.kvBlocks;
  plan = std::move(again);
  if (same) return;
  runner.reset();
  cache.reset();
  setLimits(plan.items);
  takeStepMemory();
  runner->captureGraphs(options.testing.failGraph);
}

}  // namespace octavo
