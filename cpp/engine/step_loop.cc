// The engine thread: plan under the lock, compute without it, book under it. With overlap the next step is planned and
// launched before the results of the one that runs are waited for; otherwise every step is booked before the next.
#include <algorithm>
#include <chrono>
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

void injectFaults(const EngineTesting& testing, uint64_t step, int32_t tokens, Clock& clock) {
  const int64_t fakeTime = testing.fakeStepMicroseconds + int64_t{tokens} * testing.fakeTokenMicroseconds;
  auto* const fake = fakeTime == 0 ? nullptr : dynamic_cast<FakeClock*>(&clock);
  if (fake) fake->advance(fakeTime * 1000);
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
    const bool compacting = flight.empty() && compactForCallers(lock);
    expire();
    const bool started = mayStart() && startStep();
    // Waking callers takes the device no time once it has the step; where launching computes it, they would wait.
    const bool launchesFirst = started && !runner->computesInLaunch();
    if (!launchesFirst) tell(lock);
    times.lap(HostStage::kTell, clock->now());
    if (flight.empty()) {
      if (!compacting) sleep(lock);
      continue;
    }
    const bool waits = !started || flight.size() == static_cast<size_t>(plan.batch.stepsAtOnce);
    const Calls calls = launchesFirst ? owed() : Calls();
    lock.unlock();
    RanSteps ran = runSteps(started, waits, calls);
    lock.lock();
    times.lap(HostStage::kLaunch, ran.launched);
    times.lap(HostStage::kTell, ran.told);
    times.lap(HostStage::kWait, ran.done);
    try {
      if (!ran.failed && waits) {
        bookStep();
        timeStep();
      }
    } catch (...) {
      ran.failed = currentError();
    }
    if (ran.failed) failAll(*ran.failed);
    if (options.testing.checkSteps > 0 && step % options.testing.checkSteps == 0) lookOver();
    times.lap(HostStage::kBook, clock->now());
    times.keep();
  }
  settle();
  while (!requests.empty()) finish(*requests.begin()->second, FinishReason::kCancelled);
  compactForCallers(lock);
  tell(lock);
}

/** Scores are read from logits, which the next step overwrites; blocks are moved for callers between steps alone. */
bool Engine::State::mayStart() const {
  if (failure) return false;
  if (flight.empty()) return true;
  return compactions.empty() && flight.back().sequences.back().logits != LogitsWanted::kEvery;
}

/** Without the lock: the step that was planned last goes to the device, callers wake, the first step is waited for. */
Engine::State::RanSteps Engine::State::runSteps(bool launches, bool waits, const Calls& calls) {
  RanSteps ran;
  const auto guard = [&](const auto& run) {
    try {
      if (!ran.failed) run();
    } catch (...) {
      ran.failed = currentError();
    }
    return clock->now();
  };
  ran.launched = guard([&] {
    if (launches) runner->launch();
  });
  for (const auto& call : calls) call();
  ran.told = clock->now();
  ran.done = guard([&] {
    if (!waits) return;
    injectFaults(options.testing, flight.front().step, flight.front().tokens, *clock);
    runner->wait();
  });
  return ran;
}

/** Plans the next step and hands it to the runner; false when there is nothing to do. */
bool Engine::State::startStep() {
  StepPlan started;
  const int64_t began = clock->now();
  try {
    limitPages();
    recoverCapacity();
    compactOnce(true);
    sizeBatch();
    if (!options.testing.neverPlan) started = planStep();
    moveBlocks(sessions->takeCopies());
    times.lap(HostStage::kPlan, clock->now());
    if (started.sequences.empty()) {
      if (flight.empty()) watchProgress();
      return false;
    }
    runner->begin();
    for (const PlannedSequence& planned : started.sequences) {
      runner->add(planned, *planned.owner, *planned.owner->holder);
    }
    runner->seal();
    times.lap(HostStage::kUpload, clock->now());
    started.began = began;
    flight.push_back(std::move(started));
  } catch (...) {
    const Error error = currentError();
    if (error.code() != ErrorCode::kInternal || !mend()) failAll(error);
    return false;
  }
  inFlight = step = flight.back().step;
  overlapped += flight.size() > 1 ? 1 : 0;
  markInFlight(flight.back());
  return true;
}

/** Where admission keeps memory for those that run, what is foreseen of it limits nobody. */
void Engine::State::sizeBatch() {
  const BlockPool& pool = cache->pool();
  const int64_t bytes = pool.capacity() * static_cast<int64_t>(pool.blockBytes());
  const auto known = static_cast<int64_t>(scheduler->running().size() + scheduler->waiting().all().size());
  sizer->look(bytes, scheduler->tokens(), known);
  BatchSize size = sizer->size(options.admission == Admission::kOptimistic);
  if (pace) {
    const int64_t decoding = scheduler->decoding();
    size.promptTokens = pace->tokens(decoding, known - decoding);
  }
  scheduler->setSize(size);
}

/** A step that was planned while another ran took the time since that one was booked. */
void Engine::State::timeStep() {
  const int64_t now = clock->now();
  const int64_t took = now - std::max(booking.began, lastBooked);
  if (booking.decodes > 0) {
    sizer->stepped(booking.tokens, took);
    if (pace) pace->stepped(booking.tokens - booking.decodes, took);
  }
  lastBooked = now;
}

/** What the next step, planned before this one is booked, has to know of it. */
void Engine::State::markInFlight(const StepPlan& started) {
  int32_t row = 0;
  for (const PlannedSequence& planned : started.sequences) {
    Request& request = *planned.owner;
    request.holder->lastStep = started.step;
    request.inFlight.tokens += planned.count;
    if (planned.logits != LogitsWanted::kLast) continue;
    ++request.inFlight.outputs;
    request.inFlight.row = row++;
  }
}

/** Copies blocks ahead of the next step. What they are copied from may be on pages that nothing else needs any more. */
void Engine::State::moveBlocks(const std::vector<BlockMove>& moves) {
  if (moves.empty()) return;
  runner->moveBlocks(moves);
  if (inFlight > 0) cache->pool().keepPagesUntil(step + 1);
}

/** What runs next; requests that cannot any more end here. */
StepPlan Engine::State::planStep() {
  BlockPool& pool = cache->pool();
  for (;;) {
    const uint64_t mendsBefore = mends;
    const int64_t capacity = pool.capacity();
    StepPlan planned = scheduler->plan(step + 1, inFlight, clock->now());
    const bool shrank = pool.capacity() < capacity;
    const bool mayWait = pool.inFlight() > 0 || inFlight > 0;
    const bool broken = !planned.starved.empty() && !shrank && planned.refused.empty() && !mayWait;
    if (!planned.refused.empty()) failEach(planned.refused, outgrown(pool));
    if (broken) {
      failEach(planned.starved, {ErrorCode::kInternal, "the KV blocks promised to this request were not there"});
    }
    // Those who ended may be in the plan, and after a loss of capacity others must be parked first.
    const bool stands = planned.refused.empty() && !broken && mends == mendsBefore;
    if (stands && !(shrank && planned.sequences.empty())) return planned;
  }
}

void Engine::State::failEach(const std::vector<RequestId>& ids, const Error& error) {
  for (const RequestId id : ids) {
    const auto request = requests.find(id);
    if (request != requests.end()) finish(*request->second, FinishReason::kFailed, &error);
  }
}

/** Waits for what was launched, and gives it up. */
void Engine::State::settle() {
  try {
    if (!flight.empty()) runner->synchronize();
  } catch (const Error&) {
    // A device that has failed does nothing any more.
  }
  flight.clear();
  guarded([&] { cache->pool().passFence(step); });
  inFlight = 0;
}

/** A step failed as a whole: what the device holds is not to be trusted any more. */
void Engine::State::failAll(const Error& error) {
  failure.emplace(error);
  settle();
  while (!requests.empty()) finish(*requests.begin()->second, FinishReason::kFailed, &error);
}

/** Who waits for events or for a fence that is there; each is given once. */
Engine::State::Calls Engine::State::owed() {
  Calls calls;
  const auto passed = reusable.lower_bound(flight.empty() ? step + 1 : flight.front().step);
  for (auto waiter = reusable.begin(); waiter != passed; ++waiter) calls.push_back(std::move(waiter->second));
  reusable.erase(reusable.begin(), passed);
  if (!told && !events.empty()) {
    told = true;
    calls.push_back(onEvents);
  }
  return calls;
}

/** Calls, without the lock. */
void Engine::State::tell(std::unique_lock<std::mutex>& lock) {
  const Calls calls = owed();
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
