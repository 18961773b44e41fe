// The memory trace of an engine: snapshots, levels, leaks.
#include <utility>

#include "engine/engine_state.h"

namespace octavo {

EngineSnapshot Engine::snapshot() {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  EngineSnapshot snapshot;
  snapshot.report = lockedReport();
  snapshot.kvAddress = reinterpret_cast<uintptr_t>(state_->cache->view().data);
  snapshot.kvPages = state_->cache->pool().mappedRuns();
  snapshot.blocks = state_->cache->pool().runs();
  snapshot.trace = state_->allocator->trace().snapshot();
  return snapshot;
}

void Engine::setTraceLevel(int level) {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  state_->allocator->trace().setLevel(level);
}

SpillReport Engine::traceSpill() {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  return state_->allocator->trace().flushSpill();
}

LeakReport Engine::leaks() {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  const TraceSnapshot trace = state_->allocator->trace().snapshot();
  const auto isLive = [this](Owner owner) { return state_->isLive(owner); };
  LeakReport report;
  report.leaks = findLeaks(state_->allocator->ledger().lines(), trace, isLive);
  report.nowNanoseconds = trace.nowNanoseconds;
  const ObjectCounts& objects = *state_->allocator->device().objects();
  report.streams = objects.count(ObjectKind::kStream);
  report.events = objects.count(ObjectKind::kEvent);
  report.graphs = objects.count(ObjectKind::kGraph);
  report.pinned = objects.count(ObjectKind::kPinned);
  report.pinnedKept = static_cast<int64_t>(state_->allocator->pinnedKept().buffers);
  for (const Leak& leak : report.leaks) report.stacks.push_back(trace.stacks[leak.stack]);
  return report;
}

/** Adapters and graphs are the engine's own: they end with it. */
bool Engine::State::isLive(Owner owner) {
  if (owner.kind == OwnerKind::kSession) return sessions->find(owner.id) != nullptr;
  if (owner.kind == OwnerKind::kRequest) return requests.count(owner.id) > 0;
  return true;
}

/** A leak on purpose, so that tests can see it found. */
[[gnu::noinline]] void Engine::State::plantLeak(SessionId session) {
  const size_t held = allocator->statistics(Region::kWorkspace).allocatedBytes;
  allocator->setLimit(Region::kWorkspace, held + DeviceAllocator::rounded(options.testing.leakBytes));
  planted.push_back(allocator->allocate(Region::kWorkspace, options.testing.leakBytes,
                                        {OwnerKind::kSession, session}, "planted"));
}

}  // namespace octavo
