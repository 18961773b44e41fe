// Blocks for those that run: whether one may take them, and who makes room when there are none.
#include <algorithm>

#include "engine/scheduler.h"

namespace octavo {

/** What it would copy before a write counts as not held. */
BlockDemand Scheduler::demandOf(const Request& request) const {
  const Session& session = *request.holder;
  BlockDemand demand;
  demand.table = session.blocks;
  if (sessions_.mustCopy(session)) demand.table = demand.table.first(demand.table.size() - 1);
  demand.tokens = request.expectedLength();
  demand.left = request.left();
  demand.most = request.promisedBlocks;
  return demand;
}

std::vector<BlockDemand> Scheduler::demands() const {
  std::vector<BlockDemand> all;
  for (const Request* request : running_) all.push_back(demandOf(*request));
  return all;
}

size_t Scheduler::indexOf(const Request& request) const {
  return static_cast<size_t>(std::find(running_.begin(), running_.end(), &request) - running_.begin());
}

/** With so many blocks more for this request all can still end, in some order. */
bool Scheduler::isSafe(const Request& request, int64_t blocks) {
  const int64_t capacity = sessions_.pool().capacity();
  if (blocks == 0 || limits_.admission == Admission::kOptimistic || promised_ <= capacity) return true;
  if (!weighed_) planner_.weigh(demands(), capacity);
  weighed_ = true;
  return blocks <= planner_.allowance(indexOf(request));
}

/** Makes the session of a running request cover so many tokens; false: not in this step. */
bool Scheduler::provide(Request& request, int64_t tokens, Draft& draft) {
  Session& session = *request.holder;
  if (sessions_.isCovered(session, tokens)) return true;
  BlockPool& pool = sessions_.pool();
  const auto missing = [&] { return sessions_.blocksToCover(session, tokens); };
  const int64_t expected = request.expectedLength();
  if (missing() == 0) return sessions_.cover(session, tokens, expected, draft.fence);
  while (!isSafe(request, missing())) {
    if (parkPaused(request, draft.fence)) continue;
    ++report_.stalls;
    return false;
  }
  for (;;) {
    sessions_.makeFree(missing(), draft.fence);
    const int64_t blocks = missing();
    if (blocks <= pool.free()) {
      if (weighed_) planner_.take(indexOf(request), blocks);
      if (sessions_.cover(session, tokens, expected, draft.fence)) return true;
    }
    // Blocks in flight will be free: whoever made room for them need not do so again.
    const bool mayPreempt = limits_.admission == Admission::kOptimistic && pool.inFlight() == 0;
    if (!mayPreempt || !preempt(request, draft)) break;
  }
  if (request.running) draft.plan.starved.push_back(request.id);
  return false;
}

/** The least of the running requests waits again, be it this one; true when others may go on without it. */
bool Scheduler::preempt(const Request& request, Draft& draft) {
  if (running_.size() < 2) return false;
  const auto isLess = [](const Request* a, const Request* b) {
    if (a->isPaused() != b->isPaused()) return a->isPaused();
    return a->spec.priority != b->spec.priority ? a->spec.priority < b->spec.priority : a->id > b->id;
  };
  Request& victim = **std::min_element(running_.begin(), running_.end(), isLess);
  unplace(victim, draft);
  park(victim, draft.fence);
  ++victim.preemptions;
  ++report_.preemptions;
  draft.preempted = true;
  return &victim != &request;
}

}  // namespace octavo
