// The engine seen from outside: one consistent picture, taken under the lock.
#include "engine/engine_state.h"

namespace octavo {

namespace {

SessionReport reportOf(const SessionTable& sessions, const Session& session) {
  SessionReport report;
  report.id = session.id;
  report.blocks = static_cast<int64_t>(session.blocks.size());
  report.blocksOfOthers = sessions.blocksOfOthers(session);
  report.bytes = static_cast<size_t>(report.blocks - report.blocksOfOthers) * sessions.pool().blockBytes();
  report.tokens = static_cast<int64_t>(session.tokens.size());
  report.state = session.running ? "running" : session.request != 0 ? "waiting" : session.isBusy() ? "running" : "idle";
  report.parent = session.parent;
  return report;
}

/** Of every waiting session, 1 for the next. */
std::unordered_map<SessionId, int64_t> placesOf(const FairQueue& waiting) {
  std::unordered_map<SessionId, int64_t> places;
  for (const Request* request : waiting.order()) {
    places.emplace(request->session, static_cast<int64_t>(places.size()) + 1);
  }
  return places;
}

}  // namespace

EngineReport Engine::report() const {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  return lockedReport();
}

GraphReport Engine::graphs() const {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  return state_->runner->graphs();
}

TuningReport Engine::tuning() const {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  return state_->tuning;
}

EngineReport Engine::lockedReport() const {
  EngineReport report;
  report.lines = state_->allocator->ledger().lines();
  for (int region = 0; region < kRegionCount; ++region) {
    report.regions[region] = state_->allocator->statistics(static_cast<Region>(region));
    report.statistics[region] = state_->allocator->memoryStatistics(static_cast<Region>(region));
  }
  report.driver = state_->allocator->device().memoryUse();
  report.limit = state_->options.memoryLimit;
  report.contextBytes = state_->contextBytes;
  const BlockPool& pool = state_->cache->pool();
  report.blocksTotal = pool.total();
  report.blocksFree = pool.free();
  report.prefix = state_->sessions->prefixReport();
  report.blocksOwned = pool.owned() - report.prefix.cached;
  report.blocksInFlight = pool.inFlight();
  report.blocksCapacity = pool.capacity();
  report.pages = pool.pages();
  report.quarantine = state_->quarantine;
  report.quarantine.blocks = pool.quarantined();
  report.compaction = state_->compaction;
  report.eviction = state_->sessions->evicted();
  report.blockBytes = pool.blockBytes();
  report.mappedBytes = state_->plan.mappedBytes;
  const std::unordered_map<SessionId, int64_t> places = placesOf(state_->scheduler->waiting());
  for (const auto& [id, session] : state_->sessions->all()) {
    SessionReport& made = report.sessions.emplace_back(reportOf(*state_->sessions, *session));
    const auto place = places.find(id);
    if (place != places.end()) made.place = place->second;
  }
  report.running = static_cast<int64_t>(state_->scheduler->running().size());
  report.waiting = static_cast<int64_t>(state_->scheduler->waiting().all().size());
  report.scheduler = state_->scheduler->report();
  report.scheduler.batch = state_->sizer->report(state_->options.admission == Admission::kOptimistic);
  report.scheduler.batch.size.promptTokens = state_->scheduler->size().promptTokens;
  report.scheduler.overlapped = state_->overlapped;
  report.steps = state_->step;
  report.times = state_->times;
  return report;
}

const MemoryPlan& Engine::plan() const {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  return state_->plan;
}

}  // namespace octavo
