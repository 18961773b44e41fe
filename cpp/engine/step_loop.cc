// The engine thread: plan under the lock, compute without it, book under it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "engine/engine_state.h"

namespace octavo {

namespace {

/** Whatever was thrown, as one of ours. */
Error currentError() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::kOutOfMemory, "the host has no memory left for a step of the engine"};
  } catch (const std::exception& error) {
    return {ErrorCode::kInternal, std::string("unexpected in a step of the engine: ") + error.what()};
  }
}

/** What a request is told that does not fit alone any more. */
Error outgrown(const BlockPool& pool) {
  const int64_t quarantined = pool.quarantined();
  const std::string lost = quarantined == 0 ? "" : ", " + std::to_string(quarantined) + " more are in quarantine,";
  return {ErrorCode::kOutOfMemory, "the device had no memory left for more KV: the pool shrank to " +
                                       std::to_string(pool.capacity()) + " of " + std::to_string(pool.total()) +
                                       " blocks," + lost + " fewer than this request needs; close what else uses the "
                                       "device, try again later, or ask for less"};
}

int32_t tokensOf(const StepPlan& plan) {
  int32_t tokens = 0;
  for (const PlannedSequence& planned : plan.sequences) tokens += planned.count;
  return tokens;
}

void injectFaults(const EngineTesting& testing, uint64_t step, int32_t tokens, Clock& clock) {
  auto* const fake = dynamic_cast<FakeClock*>(&clock);
  if (fake) fake->advance((testing.fakeStepMicroseconds + int64_t{tokens} * testing.fakeTokenMicroseconds) * 1000);
  const auto pause = std::chrono::microseconds(testing.stepMicroseconds);
  if (pause.count() > 0) std::this_thread::sleep_for(pause);
  if (testing.failStep == 0 || testing.failStep != step) return;
  throw Error(ErrorCode::kDeviceFailed, "step " + std::to_string(step) + " was told to fail");
}

}  // namespace

void Engine::State::loop() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    const int64_t began = clock->now();
    times.begin(began);
    const bool compacting = compactForCallers(lock);
    expire();
    StepPlan current;
    const bool started = !failure && startStep(current);
    tell(lock);
    times.lap(HostStage::kTell, clock->now());
    if (!started) {
      if (!compacting) sleep(lock);
      continue;
    }
    std::optional<Error> failed;
    int64_t launched = 0, done = 0;
    lock.unlock();
    try {
      injectFaults(options.testing, current.step, tokensOf(current), *clock);
      runner->launch();
      launched = clock->now();
      runner->wait();
      done = clock->now();
    } catch (...) {
      failed = currentError();
    }
    lock.lock();
    if (!failed) {
      times.lap(HostStage::kLaunch, launched);
      times.lap(HostStage::kWait, done);
    }
    try {
      if (!failed) bookStep(current);
    } catch (...) {
      failed = currentError();
    }
    if (failed) failAll(*failed);
    if (current.decodes > 0) sizer->stepped(tokensOf(current), clock->now() - began);
    if (options.testing.checkSteps > 0 && step % options.testing.checkSteps == 0) lookOver();
    times.lap(HostStage::kBook, clock->now());
    times.keep();
  }
  while (!requests.empty()) finish(*requests.begin()->second, FinishReason::kCancelled);
  compactForCallers(lock);
  tell(lock);
}

/** Plans the next step and hands it to the runner; false when there is nothing to do. */
bool Engine::State::startStep(StepPlan& started) {
  try {
    limitPages();
    recoverCapacity();
    compactOnce(true);
    sizeBatch();
    if (!options.testing.neverPlan) started = planStep();
    runner->moveBlocks(sessions->takeCopies());
    if (started.sequences.empty()) {
      watchProgress();
      return false;
    }
    times.lap(HostStage::kPlan, clock->now());
    runner->begin();
    for (const PlannedSequence& planned : started.sequences) {
      const Request& request = *requests.at(planned.request);
      runner->add(planned, request, *sessions->find(request.session));
    }
    runner->seal();
    times.lap(HostStage::kUpload, clock->now());
  } catch (...) {
    const Error error = currentError();
    if (error.code() != ErrorCode::kInternal || !mend()) failAll(error);
    return false;
  }
  inFlight = step = started.step;
  return true;
}

/** Where admission keeps memory for those that run, what is foreseen of it limits nobody. */
void Engine::State::sizeBatch() {
  const BlockPool& pool = cache->pool();
  const int64_t bytes = pool.capacity() * static_cast<int64_t>(pool.blockBytes());
  sizer->look(bytes, scheduler->tokens(), static_cast<int64_t>(requests.size()));
  scheduler->setSize(sizer->size(options.admission == Admission::kOptimistic));
}

/** What runs next; requests that cannot any more end here. */
StepPlan Engine::State::planStep() {
  BlockPool& pool = cache->pool();
  for (;;) {
    const uint64_t mendsBefore = mends;
    const int64_t capacity = pool.capacity();
    StepPlan planned = scheduler->plan(step + 1, inFlight, clock->now());
    const bool shrank = pool.capacity() < capacity;
    failEach(planned.refused, outgrown(pool));
    if (!shrank && planned.refused.empty() && pool.inFlight() == 0) {
      failEach(planned.starved, {ErrorCode::kInternal, "the KV blocks promised to this request were not there"});
    }
    // Those who ended may be in the plan, and after a loss of capacity others must be parked first.
    const bool stands = planned.refused.empty() && mends == mendsBefore;
    if (stands && !(shrank && planned.sequences.empty())) return planned;
  }
}

void Engine::State::failEach(const std::vector<RequestId>& ids, const Error& error) {
  for (const RequestId id : ids) {
    const auto request = requests.find(id);
    if (request != requests.end()) finish(*request->second, FinishReason::kFailed, &error);
  }
}

/** The step is done on the device: its fence has passed, its tokens are the sessions' and the callers'. */
void Engine::State::bookStep(const StepPlan& booked) {
  inFlight = 0;
  guarded([&] { cache->pool().passFence(booked.step); });
  int32_t row = 0;
  for (const PlannedSequence& planned : booked.sequences) {
    const int32_t ownRow = planned.logits == LogitsWanted::kLast ? row++ : -1;
    const auto found = requests.find(planned.request);
    if (found == requests.end()) continue;  // cancelled, or its session disposed, meanwhile
    try {
      bookSequence(*found->second, planned, ownRow);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInternal || !mend()) throw;
      failEach({planned.request}, error);  // if it has not ended by that
    }
  }
}

void Engine::State::bookSequence(Request& request, const PlannedSequence& planned, int32_t row) {
  Session& session = *sessions->find(request.session);
  for (int32_t index = 0; index < planned.count; ++index) {
    session.tokens.push_back(request.token(planned.start + index));
  }
  if (!request.spec.score) sessions->publish(session, inFlight);
  if (row >= 0) {
    accept(request, row);
  } else if (request.spec.score && planned.start + planned.count == request.promptTokens()) {
    finish(request, FinishReason::kLength);
  }
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
  TokenEvent event;
  event.request = request.id;
  event.token = runner->sampled().token(row);
  event.logprob = runner->sampled().logprob(row);
  if (request.spec.topLogprobs > 0) event.top = runner->sampled().top(row, request.spec.topLogprobs);
  request.output.push_back(event.token);
  --request.credits;
  if (request.history) request.history->addOutput(event.token);
  if (request.output.size() == 1) request.timings.firstToken = clock->now();
  const std::vector<int32_t>& stops = request.spec.stopTokens;
  const bool stopped = std::find(stops.begin(), stops.end(), event.token) != stops.end();
  events.tokens.push_back(std::move(event));
  if (stopped) {
    finish(request, FinishReason::kEndOfSequence);
  } else if (static_cast<int32_t>(request.output.size()) == request.spec.maxNewTokens) {
    finish(request, FinishReason::kLength);
  }
}

/** A step failed as a whole: what the device holds is not to be trusted any more. */
void Engine::State::failAll(const Error& error) {
  failure.emplace(error);
  guarded([&] { cache->pool().passFence(step); });
  inFlight = 0;
  while (!requests.empty()) finish(*requests.begin()->second, FinishReason::kFailed, &error);
}

/** Calls out, without the lock, whoever waits for events or for a fence. */
void Engine::State::tell(std::unique_lock<std::mutex>& lock) {
  std::vector<std::function<void()>> calls;
  const auto passed = reusable.lower_bound(inFlight > 0 ? inFlight : step + 1);
  for (auto waiter = reusable.begin(); waiter != passed; ++waiter) calls.push_back(std::move(waiter->second));
  reusable.erase(reusable.begin(), passed);
  if (!told && !events.empty()) {
    told = true;
    calls.push_back(onEvents);
  }
  if (calls.empty()) return;
  lock.unlock();
  for (const auto& call : calls) call();
  lock.lock();
}

/** Waits until another thread changes something. An engine with no work left looks itself over first. */
void Engine::State::sleep(std::unique_lock<std::mutex>& lock) {
  if (requests.empty() && !changed) lookOver();
  tidyWhenIdle(lock);
  wake.wait_for(lock, untilExpiry(), [this] { return changed || stopping; });
  changed = false;
}

}  // namespace octavo
