#include "engine/scheduler.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

namespace {

/** Tokens whose KV is there, or will be when the steps under way are done. */
int32_t computed(const Request& request, const Session& session) {
  return static_cast<int32_t>(session.tokens.size()) + request.inFlight.tokens;
}

int32_t toCompute(const Request& request, const Session& session) {
  return request.expectedLength() - computed(request, session);
}

/** One token to compute: such requests go first, so that a long prompt holds none of them up. */
bool decodes(const Request& request, const Session& session) { return toCompute(request, session) == 1; }

int32_t plannedTokens(const StepPlan& plan) {
  int32_t tokens = 0;
  for (const PlannedSequence& planned : plan.sequences) tokens += planned.count;
  return tokens;
}

bool byLogits(const PlannedSequence& a, const PlannedSequence& b) { return a.logits < b.logits; }

}  // namespace

Scheduler::Scheduler(SessionTable& sessions, SchedulerLimits limits)
    : sessions_(sessions),
      limits_(limits),
      size_{limits.maxSequences, limits.maxBatchTokens, limits.maxBatchTokens},
      planner_(sessions.pool().total(), sessions.blockSize()) {}

void Scheduler::enqueue(Request& request) {
  request.holder = sessions_.find(request.session);
  waiting_.enqueue(request, request.holder->tenant);
  request.holder->request = request.id;
}

void Scheduler::remove(Request& request) {
  if (request.running) {
    running_.erase(std::find(running_.begin(), running_.end(), &request));
    promised_ -= request.promisedBlocks;
    request.running = false;
  } else {
    waiting_.remove(request);
  }
  waiting_.end(request);
  if (Session* session = sessions_.find(request.session)) {
    session->request = 0;
    sessions_.setRunning(*session, false);
    sessions_.touch(*session);
  }
}

StepPlan Scheduler::plan(uint64_t step, uint64_t fence, int64_t now) {
  Draft draft;
  draft.plan.step = step;
  draft.tokens = limits_.maxBatchTokens;
  draft.logitRows = limits_.maxLogitRows;
  draft.samplingEntries = limits_.maxSamplingEntries;
  draft.fence = fence;
  weighed_ = false;
  if (sessions_.pool().capacity() < sessions_.pool().total()) shed(draft);
  placeRunning(draft);
  if (!draft.preempted) admitWaiting(draft, now);
  std::vector<PlannedSequence>& sequences = draft.plan.sequences;
  if (!std::is_sorted(sequences.begin(), sequences.end(), byLogits)) {
    std::stable_sort(sequences.begin(), sequences.end(), byLogits);
  }
  return std::move(draft.plan);
}

/** All decodes; then prompts, and those who begin after them, share what the batch may have beside these. */
void Scheduler::placeRunning(Draft& draft) {
  const std::vector<Request*> running = byPriority();
  const auto placeThose = [&](bool decoding) {
    for (Request* request : running) {
      if (!request->running) continue;  // preempted by one before it
      if (decodes(*request, *request->holder) == decoding) place(*request, draft);
    }
  };
  placeThose(true);
  const int32_t decoding = plannedTokens(draft.plan);
  draft.plan.decodes = decoding;
  if (decoding > 0) {
    const int32_t besides = std::max(size_.tokens - decoding, sessions_.blockSize());
    draft.tokens = std::min({draft.tokens, besides, size_.promptTokens});
  }
  placeThose(false);
  if (decoding > 0) draft.tokens = std::min(draft.tokens, std::max(0, size_.tokens - plannedTokens(draft.plan)));
}

int64_t Scheduler::tokens() const {
  int64_t tokens = 0;
  for (const Request* request : running_) tokens += request->length();
  for (const Request* request : waiting_.all()) tokens += request->length();
  return tokens;
}

int64_t Scheduler::decoding() const {
  const auto has = [](const Request* request) { return decodes(*request, *request->holder); };
  return std::count_if(running_.begin(), running_.end(), has);
}

/** In running order but for priorities, and for those whom the sampler had no room for: who waits longest comes first. */
std::vector<Request*> Scheduler::byPriority() const {
  std::vector<Request*> running = running_;
  const auto isBefore = [](const Request* a, const Request* b) {
    if (a->spec.priority != b->spec.priority) return a->spec.priority > b->spec.priority;
    return a->missedSteps > b->missedSteps;
  };
  if (!std::is_sorted(running.begin(), running.end(), isBefore)) {
    std::stable_sort(running.begin(), running.end(), isBefore);
  }
  return running;
}

void Scheduler::place(Request& request, Draft& draft) {
  if (request.isPaused() || request.isEnding() || request.isAboutToFork()) return;
  const Session& session = *request.holder;
  PlannedSequence planned;
  planned.request = request.id;
  planned.start = computed(request, session);
  const int32_t remaining = toCompute(request, session);
  planned.count = std::min(remaining, draft.tokens);
  if (request.spec.score) {
    planned.count = std::min(planned.count, draft.logitRows);
    planned.logits = LogitsWanted::kEvery;
  } else if (planned.count == remaining) {
    const bool hasRoom = request.samplingEntries() <= draft.samplingEntries;
    request.missedSteps = hasRoom ? 0 : request.missedSteps + 1;
    if (draft.logitRows > 0 && hasRoom) planned.logits = LogitsWanted::kLast;
    else --planned.count;  // all but the last token
  }
  if (planned.count <= 0 || !provide(request, static_cast<int64_t>(planned.start) + planned.count, draft)) return;
  draft.tokens -= planned.count;
  if (planned.logits == LogitsWanted::kEvery) draft.logitRows -= planned.count;
  if (planned.logits == LogitsWanted::kLast) {
    --draft.logitRows;
    draft.samplingEntries -= request.samplingEntries();
    ++draft.plan.sampled;
    FairQueue::charge(request, FairQueue::kOutputPrice);
  }
  draft.plan.sequences.push_back(planned);
}

/** Takes a request out of the step again. */
void Scheduler::unplace(const Request& request, Draft& draft) {
  std::vector<PlannedSequence>& sequences = draft.plan.sequences;
  const auto planned = std::find_if(sequences.begin(), sequences.end(), [&request](const PlannedSequence& sequence) {
    return sequence.request == request.id;
  });
  if (planned == sequences.end()) return;
  draft.tokens += planned->count;
  if (planned->logits == LogitsWanted::kEvery) draft.logitRows += planned->count;
  if (planned->logits == LogitsWanted::kLast) {
    ++draft.logitRows;
    draft.samplingEntries += request.samplingEntries();
    --draft.plan.sampled;
    FairQueue::charge(request, -FairQueue::kOutputPrice);
  }
  sequences.erase(planned);
}

void Scheduler::check() const {
  waiting_.check();
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
  if (promised != promised_) {
    throw Error(ErrorCode::kInternal, "running requests were promised " + std::to_string(promised) +
                                          " blocks, the scheduler counts " + std::to_string(promised_));
  }
}

}  // namespace octavo
