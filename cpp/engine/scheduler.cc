#include "engine/scheduler.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

namespace {

/** Tokens whose KV is there, or will be when the steps under way are done. */
int32_t computed(const Request& request) {
  return static_cast<int32_t>(request.holder->tokens.size()) + request.inFlight.tokens;
}

int32_t toCompute(const Request& request) { return request.expectedLength() - computed(request); }

/** One token to compute: such requests go first, so that a long prompt holds none of them up. */
bool decodes(const Request& request) { return toCompute(request) == 1; }

bool byLogits(const PlannedSequence& a, const PlannedSequence& b) { return a.logits < b.logits; }

}  // namespace

Scheduler::Scheduler(SessionTable& sessions, SchedulerLimits limits)
    : sessions_(sessions),
      limits_(limits),
      size_{limits.maxSequences, limits.maxBatchTokens, limits.maxBatchTokens},
      planner_(sessions.pool().total(), sessions.blockSize()) {}

void Scheduler::enqueue(Request& request) {
  tokens_ += request.length();
  request.holder = sessions_.find(request.session);
  waiting_.enqueue(request, request.holder->tenant);
  request.holder->request = request.id;
}

void Scheduler::remove(Request& request) {
  tokens_ -= request.length();
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
  draft.plan.sequences.reserve(static_cast<size_t>(limits_.maxSequences));
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
  orderByPriority();
  prompts_.clear();
  for (Request* request : order_) {
    if (!decodes(*request)) prompts_.push_back(request);
    else if (request->running) place(*request, draft);  // else it was preempted by one before it
  }
  const int32_t decoding = draft.plan.tokens;
  draft.plan.decodes = decoding;
  if (decoding > 0) {
    const int32_t besides = std::max(size_.tokens - decoding, sessions_.blockSize());
    draft.tokens = std::min({draft.tokens, besides, size_.promptTokens});
  }
  for (Request* request : prompts_) {
    if (request->running) place(*request, draft);
  }
  if (decoding > 0) draft.tokens = std::min(draft.tokens, std::max(0, size_.tokens - draft.plan.tokens));
}

int64_t Scheduler::decoding() const {
  const auto has = [](const Request* request) { return decodes(*request); };
  return std::count_if(running_.begin(), running_.end(), has);
}

/** In running order but for priorities, and for those whom there was no room for: who waits longest comes first. */
void Scheduler::orderByPriority() {
  order_.assign(running_.begin(), running_.end());
  const auto isBefore = [](const Request* a, const Request* b) {
    if (a->spec.priority != b->spec.priority) return a->spec.priority > b->spec.priority;
    return a->missedSteps > b->missedSteps;
  };
  if (!std::is_sorted(order_.begin(), order_.end(), isBefore)) std::stable_sort(order_.begin(), order_.end(), isBefore);
}

void Scheduler::place(Request& request, Draft& draft) {
  if (request.isPaused() || request.isEnding() || request.isAboutToFork()) return;
  PlannedSequence planned;
  planned.request = request.id;
  planned.owner = &request;
  planned.start = computed(request);
  const int32_t remaining = request.expectedLength() - planned.start;
  int64_t entries = 0;  // of the sampler
  planned.count = std::min(remaining, draft.tokens);
  if (request.spec.score) {
    planned.count = std::min(planned.count, draft.logitRows);
    planned.logits = LogitsWanted::kEvery;
  } else if (planned.count == remaining) {
    entries = request.samplingEntries();
    const bool hasRoom = draft.logitRows > 0 && entries <= draft.samplingEntries;
    request.missedSteps = hasRoom ? 0 : request.missedSteps + 1;
    if (hasRoom) planned.logits = LogitsWanted::kLast;
    else --planned.count;  // all but the last token
  }
  if (planned.count <= 0 || !provide(request, static_cast<int64_t>(planned.start) + planned.count, draft)) return;
  draft.tokens -= planned.count;
  draft.plan.tokens += planned.count;
  if (planned.logits == LogitsWanted::kEvery) draft.logitRows -= planned.count;
  if (planned.logits == LogitsWanted::kLast) {
    --draft.logitRows;
    draft.samplingEntries -= entries;
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
  draft.plan.tokens -= planned->count;
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
  int64_t promised = 0, tokens = 0;
  for (const Request* request : waiting_.all()) tokens += request->length();
  for (const Request* request : running_) {
    tokens += request->length();
    promised += request->promisedBlocks;
    const Session* session = sessions_.find(request->session);
    const bool owned = session && session->request == request->id && session->running;
    const auto held = owned ? static_cast<int64_t>(session->blocks.size()) : -1;
    if (owned && held <= request->promisedBlocks) continue;
    throw Error(ErrorCode::kInternal, "request " + std::to_string(request->id) + " was promised " +
                                          std::to_string(request->promisedBlocks) + " blocks; its session " +
                                          std::to_string(request->session) + " holds " + std::to_string(held));
  }
  if (tokens != tokens_) {
    throw Error(ErrorCode::kInternal, "requests have " + std::to_string(tokens) + " tokens, the scheduler counts " +
                                          std::to_string(tokens_));
  }
  if (promised != promised_) {
    throw Error(ErrorCode::kInternal, "running requests were promised " + std::to_string(promised) +
                                          " blocks, the scheduler counts " + std::to_string(promised_));
  }
}

}  // namespace octavo
