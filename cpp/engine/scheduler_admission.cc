// Who begins, who has to wait again, and who cannot run any more.
#include <algorithm>

#include "engine/scheduler.h"

namespace octavo {

namespace {

constexpr int64_t kWatermarkShare = 100;  // optimistic: one in so many blocks stays free for those that run

bool mayPark(const Request* request) { return request->isPaused() && !request->isAboutToFork(); }

}  // namespace

void Scheduler::admitWaiting(Draft& draft, int64_t now) {
  while (draft.tokens > 0 && mayAdmit()) {
    if (!admitting_ && (!draft.plan.sequences.empty() || draft.fence != 0)) return;
    Request* const request = waiting_.next();  // a paused one would hold up the others
    if (!request) return;
    if (!makeRoom(*request, draft.fence)) {  // strictly in order: a large request is not overtaken for ever
      if (running_.empty()) draft.plan.refused.push_back(request->id);
      return;
    }
    waiting_.remove(*request);
    admit(*request, draft.fence, now);
    place(*request, draft);
    if (draft.preempted) return;
  }
}

/** There is a place, or one that somebody can be parked from: else whoever is next need not be looked for. */
bool Scheduler::mayAdmit() const {
  if (waiting_.all().empty()) return false;
  if (static_cast<int32_t>(running_.size()) < mostRunning()) return true;
  return std::any_of(running_.begin(), running_.end(), mayPark);
}

bool Scheduler::isShort() const {
  const Request* const next = running_.empty() ? waiting_.next() : nullptr;
  return next && next->promisedBlocks > sessions_.pool().capacity();
}

bool Scheduler::fits(const Request& request) {
  const int64_t capacity = sessions_.pool().capacity();
  if (static_cast<int32_t>(running_.size()) >= mostRunning()) return false;
  if (request.promisedBlocks > capacity) return false;
  if (promised_ + request.promisedBlocks <= capacity) return true;
  if (limits_.admission == Admission::kOptimistic) {
    const int64_t size = sessions_.blockSize();
    const int64_t prompt = (request.length() + size - 1) / size;
    const int64_t watermark = running_.empty() ? 0 : capacity / kWatermarkShare + 1;
    return sessions_.runningBlocks() + prompt + watermark <= capacity;
  }
  std::vector<BlockId> held;  // by a score request nothing: it computes every position, into blocks of its own
  if (!request.spec.score) held = sessions_.preview(*request.holder, request.spec.prompt);
  std::vector<BlockDemand> all = demands();
  BlockDemand own = demandOf(request);
  own.table = held;
  all.push_back(own);
  return planner_.peak(std::move(all)) <= capacity;
}

/** Parks paused requests, last admitted first, until `request` fits; false when it still does not. */
bool Scheduler::makeRoom(const Request& request, uint64_t fence) {
  bool fitting = fits(request);
  while (!fitting && parkPaused(request, fence)) fitting = fits(request);
  return fitting;
}

/** Parks the paused request that was admitted last; false when there is none. */
bool Scheduler::parkPaused(const Request& except, uint64_t fence) {
  for (size_t index = running_.size(); index-- > 0;) {
    Request& request = *running_[index];
    if (!mayPark(&request) || &request == &except) continue;
    park(request, fence);
    return true;
  }
  return false;
}

/** It waits again, and its session keeps its KV until others need it. It must be in no step that is planned. */
void Scheduler::park(Request& request, uint64_t fence) {
  running_.erase(std::find(running_.begin(), running_.end(), &request));
  promised_ -= request.promisedBlocks;
  Session& session = *request.holder;
  request.running = false;
  sessions_.setRunning(session, false);
  sessions_.trim(session, fence);
  waiting_.putBack(request);
  weighed_ = false;
}

/** After the pool shrank: brings what runs within its capacity, so that all can end, and idle KV within the rest. */
void Scheduler::shed(Draft& draft) {
  const int64_t capacity = sessions_.pool().capacity();
  weighed_ = false;
  const auto tooMuch = [&] {
    if (promised_ <= capacity) return false;
    if (limits_.admission == Admission::kOptimistic) return sessions_.runningBlocks() > capacity;
    return planner_.peak(demands()) > capacity;
  };
  while (running_.size() > 1 && tooMuch()) park(*running_.back(), draft.fence);
  if (running_.size() == 1 && promised_ > capacity) draft.plan.refused.push_back(running_.back()->id);
  sessions_.reclaim(std::max<int64_t>(0, capacity - sessions_.runningBlocks()), draft.fence);
}

void Scheduler::admit(Request& request, uint64_t fence, int64_t now) {
  Session& session = *request.holder;
  running_.push_back(&request);
  if (!request.wasAdmitted) {
    // A score request computes every position: what is cached has no logits.
    const int32_t most = request.spec.score ? 0 : request.promptTokens();
    const bool isSample = session.parent != 0;  // one use with the request that computed its prompt
    request.cachedTokens = sessions_.keepPrefix(session, request.spec.prompt, most, fence, isSample);
    request.timings.admitted = now;
    request.wasAdmitted = true;
    FairQueue::charge(request, request.promptTokens() - request.cachedTokens);
  } else if (!request.spec.score) {  // a parked one goes on: what its session still holds is its prompt and output
    std::vector<int32_t> sequence = request.spec.prompt;
    sequence.insert(sequence.end(), request.output.begin(), request.output.end());
    sessions_.keepPrefix(session, sequence, request.length(), fence, true);
  }
  promised_ += request.promisedBlocks;
  request.running = true;
  sessions_.setRunning(session, true);
  weighed_ = false;
}

}  // namespace octavo
