#include "engine/scheduler.h"

#include <algorithm>

namespace octavo {

namespace {

int32_t left(const Request& request, const Session& session) {
  return request.length() - static_cast<int32_t>(session.tokens.size());
}

/** One token to compute: such requests go first, so that a long prompt holds none of them up. */
bool decodes(const Request& request, const Session& session) { return left(request, session) == 1; }

bool arrivedBefore(const Request* a, const Request* b) { return a->id < b->id; }

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
    sessions_.setRunning(*session, false);
    sessions_.touch(*session);
  }
}

StepPlan Scheduler::plan(uint64_t step, uint64_t fence, int64_t now) {
  StepPlan plan;
  plan.step = step;
  Budget budget{limits_.maxBatchTokens, limits_.maxLogitRows};
  if (sessions_.pool().capacity() < sessions_.pool().total()) shed(plan, fence);
  for (const bool decoding : {true, false}) {
    for (Request* request : running_) {
      const bool isDecode = decodes(*request, *sessions_.find(request->session));
      if (isDecode == decoding) place(*request, plan, budget, fence);
    }
  }
  admitWaiting(plan, budget, fence, now);
  std::stable_sort(plan.sequences.begin(), plan.sequences.end(), byLogits);
  return plan;
}

void Scheduler::admitWaiting(StepPlan& plan, Budget& budget, uint64_t fence, int64_t now) {
  for (size_t next = 0; next < waiting_.size() && budget.tokens > 0;) {
    if (!admitting_ && !plan.sequences.empty()) return;
    Request& request = *waiting_[next];
    if (request.isPaused()) {  // a caller that takes nothing yet must not hold up the others
      ++next;
      continue;
    }
    if (!makeRoom(request, fence)) {  // strictly in order: a large request is not overtaken for ever
      if (running_.empty()) plan.refused.push_back(request.id);
      return;
    }
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &request));  // parked ones may have moved it
    admit(request, fence, now);
    place(request, plan, budget, fence);
  }
}

bool Scheduler::isShort() const {
  return running_.empty() && !waiting_.empty() && waiting_.front()->promisedBlocks > sessions_.pool().capacity();
}

bool Scheduler::fits(const Request& request) const {
  return static_cast<int32_t>(running_.size()) < limits_.maxSequences &&
         promised_ + request.promisedBlocks <= sessions_.pool().capacity();
}

/** Parks paused requests, last admitted first, until `request` fits; false when it still does not. */
bool Scheduler::makeRoom(const Request& request, uint64_t fence) {
  for (size_t index = running_.size(); !fits(request) && index-- > 0;) {
    if (running_[index]->isPaused()) park(*running_[index], fence);
  }
  return fits(request);
}

/** A paused request is in no step being planned, so nothing of it is computed after this. */
void Scheduler::park(Request& request, uint64_t fence) {
  running_.erase(std::find(running_.begin(), running_.end(), &request));
  promised_ -= request.promisedBlocks;
  Session& session = *sessions_.find(request.session);
  request.running = false;
  sessions_.setRunning(session, false);
  sessions_.trim(session, fence);
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), &request, arrivedBefore), &request);
}

/** Brings the promises back within the pool's capacity, and what idle sessions hold within the rest. */
void Scheduler::shed(StepPlan& plan, uint64_t fence) {
  const int64_t capacity = sessions_.pool().capacity();
  while (promised_ > capacity && running_.size() > 1) park(*running_.back(), fence);
  if (promised_ > capacity) plan.refused.push_back(running_.back()->id);
  sessions_.reclaim(std::max<int64_t>(0, capacity - promised_), fence);
}

void Scheduler::admit(Request& request, uint64_t fence, int64_t now) {
  Session& session = *sessions_.find(request.session);
  running_.push_back(&request);
  if (!request.wasAdmitted) {
    // A score request computes every position: what is cached has no logits.
    const int32_t most = request.spec.score ? 0 : request.promptTokens();
    request.cachedTokens = sessions_.keepPrefix(session, request.spec.prompt, most, fence);
    request.timings.admitted = now;
    request.wasAdmitted = true;
  } else if (!request.spec.score) {  // a parked one goes on: what its session still holds is its prompt and output
    std::vector<int32_t> sequence = request.spec.prompt;
    sequence.insert(sequence.end(), request.output.begin(), request.output.end());
    sessions_.keepPrefix(session, sequence, request.length(), fence);
  }
  promised_ += request.promisedBlocks;
  request.running = true;
  sessions_.setRunning(session, true);
  sessions_.reclaim(sessions_.pool().capacity() - promised_, fence);
}

void Scheduler::place(Request& request, StepPlan& plan, Budget& budget, uint64_t fence) {
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
  // The copy leaves the shared block to those who do not run: what they hold must stay within what is not promised.
  if (sessions_.mustCopy(session)) sessions_.reclaim(sessions_.pool().capacity() - promised_ - 1, fence);
  if (!sessions_.cover(session, static_cast<int64_t>(planned.start) + planned.count, request.length(),
                       fence)) {
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
