// The results of a step: whose KV and whose tokens they are.
#include <algorithm>
#include <cmath>

#include "engine/engine_state.h"

namespace octavo {

/** The first step is done on the device: its fence has passed, its tokens are the sessions' and the callers'. */
void Engine::State::bookStep() {
  booking = std::move(flight.front());
  flight.pop_front();
  if (flight.empty()) inFlight = 0;
  guarded([&] { cache->pool().passFence(booking.step); });
  if (events.tokens.empty()) events.tokens.reserve(static_cast<size_t>(booking.sampled));
  int32_t row = 0;
  for (const PlannedSequence& planned : booking.sequences) {
    const int32_t ownRow = planned.logits == LogitsWanted::kLast ? row++ : -1;
    if (!planned.owner) continue;  // ended meanwhile: cancelled, or by a token of the step before
    try {
      bookSequence(*planned.owner, planned, ownRow);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInternal || !mend()) throw;
      failEach({planned.request}, error);  // if it has not ended by that
    }
  }
}

/** A request ends: steps that have it book nothing of it. */
void Engine::State::leaveSteps(const Request& request) {
  const auto leave = [&request](StepPlan& step) {
    for (PlannedSequence& planned : step.sequences) {
      if (planned.owner == &request) planned.owner = nullptr;
    }
  };
  for (StepPlan& step : flight) leave(step);
  leave(booking);
}

void Engine::State::bookSequence(Request& request, const PlannedSequence& planned, int32_t row) {
  bookTokens(request, planned);
  const bool hasPrompt = planned.start + planned.count >= request.promptTokens();
  if (hasPrompt && !request.samples.empty()) beginSamples(request, *request.holder);
  if (row >= 0) {
    accept(request, row);
  } else if (request.spec.score && planned.start + planned.count == request.promptTokens()) {
    finish(request, FinishReason::kLength);
  }
}

/** Their KV is the session's, unless the request was parked since: then its blocks are others' already. */
void Engine::State::bookTokens(Request& request, const PlannedSequence& planned) {
  request.inFlight.tokens -= planned.count;
  if (planned.logits == LogitsWanted::kLast) --request.inFlight.outputs;
  if (request.spec.score) request.scored = std::max(request.scored, planned.start + planned.count);
  if (!request.running) return;
  Session& session = *request.holder;
  for (int32_t index = 0; index < planned.count; ++index) {
    session.tokens.push_back(request.token(planned.start + index));
  }
  if (!request.spec.score) sessions->publish(session, inFlight);
}

/** Books the sampled token of a logit row; a row with nothing to sample from ends its request. */
void Engine::State::accept(Request& request, int32_t row) {
  if (!std::isfinite(runner->sampled().logprob(row))) {
    const Error error(ErrorCode::kCheckpointInvalid,
                      "no logit after token " + std::to_string(request.length()) +
                          " is a finite number: the weights hold NaN or infinities, or overflow in this dtype; "
                          "check the files, or load with dtype 'fp32'");
    finish(request, FinishReason::kFailed, &error);
    return;
  }
  const int32_t token = runner->sampled().token(row);
  TokenEvent& event = events.tokens.emplace_back();
  event.request = request.id;
  event.token = token;
  event.logprob = runner->sampled().logprob(row);
  if (request.spec.topLogprobs > 0) event.top = runner->sampled().top(row, request.spec.topLogprobs);
  request.output.push_back(token);
  scheduler->countOutput();
  --request.credits;
  if (request.history) request.history->addOutput(token);
  if (request.output.size() == 1) request.timings.firstToken = clock->now();
  const std::vector<int32_t>& stops = request.spec.stopTokens;
  const bool stopped = std::find(stops.begin(), stops.end(), token) != stops.end();
  if (stopped) {
    // Of the next step, which was launched without knowing this, nothing is kept, and nothing is to be paid.
    FairQueue::charge(request, -FairQueue::kOutputPrice * request.inFlight.outputs);
    finish(request, FinishReason::kEndOfSequence);
  } else if (static_cast<int32_t>(request.output.size()) == request.spec.maxNewTokens) {
    finish(request, FinishReason::kLength);
  }
}

}  // namespace octavo
