#include "engine/scheduler.h"

#include <algorithm>

namespace octavo {

namespace {

int32_t left(const Request& request, const Session& session) {
  return request.length() - static_cast<int32_t>(session.tokens.size());
}

bool byLogits(const PlannedSequence& a, const PlannedSequence& b) { return a.logits < b.logits; }

}  // namespace

void Scheduler::enqueue(Request& request) {
  waiting_.push_back(&request);
  sessions_.find(request.session)->request = request.id;
}

void Scheduler::remove(Request& request) {
  if (request.running) {
    running_.erase(std::find(running_.begin(), running_.end(), &request));
    promised_ -= request.promisedBlocks;
    request.running = false;
  } else {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &request));
  }
  if (Session* session = sessions_.find(request.session)) {
    session->request = 0;
    session->running = false;
    sessions_.touch(*session);
  }
}

StepPlan Scheduler::plan(uint64_t step, uint64_t fence, int64_t now) {
  StepPlan plan;
  plan.step = step;
  Budget budget{limits_.maxBatchTokens, limits_.maxLogitRows};
  for (Request* request : running_) {
    if (!request->output.empty()) place(*request, plan, budget);
  }
  for (Request* request : running_) {
    if (request->output.empty()) place(*request, plan, budget);
  }
  admitWaiting(plan, budget, fence, now);
  std::stable_sort(plan.sequences.begin(), plan.sequences.end(), byLogits);
  return plan;
}

void Scheduler::admitWaiting(StepPlan& plan, Budget& budget, uint64_t fence, int64_t now) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const bool hasRoom = budget.tokens > 0 && static_cast<int32_t>(running_.size()) < limits_.maxSequences;
    if (!hasRoom) return;
    Request& request = **next;
    if (request.isPaused()) {  // a caller that takes nothing yet must not hold up the others
      ++next;
      continue;
    }
    if (!admit(request, fence, now)) return;  // strictly in order: a large request is not overtaken for ever
    next = waiting_.erase(next);
    place(request, plan, budget);
  }
}

bool Scheduler::admit(Request& request, uint64_t fence, int64_t now) {
  const int64_t spare = sessions_.pool().total() - promised_ - request.promisedBlocks;
  if (spare < 0) return false;
  Session& session = *sessions_.find(request.session);
  running_.push_back(&request);
  // A score request computes every position: what is cached has no logits.
  const int32_t most = request.spec.score ? 0 : request.promptTokens();
  request.cachedTokens = sessions_.keepPrefix(session, request.spec.prompt, most, fence);
  sessions_.reclaim(spare, session, fence);
  promised_ += request.promisedBlocks;
  request.running = session.running = true;
  request.timings.admitted = now;
  return true;
}

void Scheduler::place(Request& request, StepPlan& plan, Budget& budget) {
  if (request.isPaused()) return;
  Session& session = *sessions_.find(request.session);
  PlannedSequence planned;
  planned.request = request.id;
  planned.start = static_cast<int32_t>(session.tokens.size());
  const int32_t remaining = left(request, session);
  planned.count = std::min(remaining, budget.tokens);
  if (request.spec.score) {
    planned.count = std::min(planned.count, budget.logitRows);
    planned.logits = LogitsWanted::kEvery;
  } else if (planned.count == remaining) {
    if (budget.logitRows > 0) planned.logits = LogitsWanted::kLast;
    else --planned.count;  // no row left to sample from: all but the last token
  }
  if (planned.count <= 0) return;
  if (!sessions_.cover(session, static_cast<int64_t>(planned.start) + planned.count)) {
    plan.starved.push_back(request.id);
    return;
  }
  budget.tokens -= planned.count;
  if (planned.logits == LogitsWanted::kEvery) budget.logitRows -= planned.count;
  if (planned.logits == LogitsWanted::kLast) {
    --budget.logitRows;
    ++plan.sampled;
  }
  plan.sequences.push_back(planned);
}

void Scheduler::check() const {
  int64_t promised = 0;
  for (const Request* request : running_) {
    promised += request->promisedBlocks;
    const Session* session = sessions_.find(request->session);
    const bool owned = session && session->request == request->id && session->running;
    const auto held = owned ? static_cast<int64_t>(session->blocks.size()) : -1;
    if (owned && held <= request->promisedBlocks) continue;
    throw Error(ErrorCode::kInternal, "request " + std::to_string(request->id) + " was promised " +
                                          std::to_string(request->promisedBlocks) + " blocks; its session " +
                                          std::to_string(request->session) + " holds " + std::to_string(held));
  }
  if (promised != promised_ || promised_ > sessions_.pool().total()) {
    throw Error(ErrorCode::kInternal, "running requests were promised " + std::to_string(promised) +
                                          " blocks, the scheduler counts " + std::to_string(promised_) +
                                          " of " + std::to_string(sessions_.pool().total()));
  }
}

}  // namespace octavo
