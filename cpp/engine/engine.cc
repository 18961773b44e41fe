// The calls of other threads: guards, then one change under the lock, then a nudge to the engine thread.
#include "engine/engine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/engine_state.h"

namespace octavo {

Engine::Engine() : state_(std::make_unique<State>()) {}

Engine::~Engine() { dispose(); }

SessionId Engine::createSession(const SessionOptions& options) {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  Session& session = state_->sessions->create(options.tenant);
  session.quota = options.quota;
  session.stages = options.stages;
  state_->beginLease(session, options.lease);
  const SessionId id = session.id;
  if (state_->options.testing.leakBytes > 0) state_->plantLeak(id);
  return id;
}

SessionId Engine::forkSession(SessionId id) {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  const Session& session = state_->requireSession(id);
  state_->requireIdle(session);
  Session& forked = state_->sessions->fork(session);
  state_->beginLease(forked, session.lease.terms());
  return forked.id;
}

void Engine::disposeSession(SessionId id, std::function<void()> whenReusable) {
  std::unique_lock lock(state_->mutex);
  Session* session = state_->disposed ? nullptr : state_->sessions->find(id);
  if (session) state_->release(*session, FinishReason::kCancelled);
  if (!whenReusable) return;
  if (session && state_->inFlight > 0) {
    state_->reusable.emplace(state_->inFlight, std::move(whenReusable));
    return;
  }
  lock.unlock();
  whenReusable();
}

RequestId Engine::submit(SessionId id, RequestSpec spec) {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  if (state_->failure) throw *state_->failure;
  state_->requireHostMemory();
  Session& session = state_->requireSession(id);
  state_->requireIdle(session);
  const int32_t blockSize = state_->options.blockSize;
  const BlockPool& pool = state_->cache->pool();
  validateRequest(spec, {state_->spec.vocabularySize, state_->spec.sampledVocabulary, state_->spec.contextLength,
                         blockSize, pool.total() - pool.quarantined()});
  requireWithinQuota(session, spec, state_->cache->shape());
  state_->requireLogitsMemory(spec);
  auto request = std::make_unique<Request>();
  request->session = id;
  request->promisedBlocks = blocksOf(spec, blockSize);
  request->credits = spec.credits;
  request->spec = std::move(spec);
  request->prepare(state_->spec.vocabularySize);
  request->timings.submitted = state_->clock->now();
  request->timer = StageTimer(request->spec.stages.value_or(session.stages), request->timings.submitted);
  request->id = ++state_->lastRequest;
  Request& entered = *request;
  state_->addSamples(entered);
  state_->requests.emplace(entered.id, std::move(request));
  state_->scheduler->enqueue(entered);
  state_->beginTimers(entered, session);
  state_->notify();
  return entered.id;
}

void Engine::cancel(RequestId id) {
  const std::lock_guard lock(state_->mutex);
  const auto request = state_->requests.find(id);
  if (request == state_->requests.end()) return;
  state_->finish(*request->second, FinishReason::kCancelled);
  state_->notify();
}

void Engine::grant(RequestId id, int32_t tokens) {
  const std::lock_guard lock(state_->mutex);
  const auto request = state_->requests.find(id);
  if (request == state_->requests.end() || tokens <= 0) return;
  int32_t& credits = request->second->credits;
  credits += std::min(tokens, std::numeric_limits<int32_t>::max() - credits);
  state_->notify();
}

void Engine::compact(std::function<void()> whenDone) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->stopping) {
      state_->compactions.push_back(std::move(whenDone));
      state_->notify();
      return;
    }
  }
  whenDone();
}

void Engine::clearPrefixCache() {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  state_->sessions->clearPrefixCache(state_->inFlight);
  state_->notify();
}

EngineEvents Engine::drain() {
  const std::lock_guard lock(state_->mutex);
  state_->told = false;
  return std::exchange(state_->events, {});
}

void Engine::check() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->violation.empty()) throw Error(ErrorCode::kInternal, state_->violation);
  state_->requireOpen();
  state_->checkAll();
  state_->allocator->device().ops().checkTuned();
}

void Engine::dispose() {
  const std::lock_guard once(state_->disposing);
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->disposed) return;
    state_->stopping = true;
    state_->notify();
  }
  if (state_->thread.joinable()) state_->thread.join();
  state_->host.reset();
  const std::lock_guard lock(state_->mutex);
  state_->close();
}

void Engine::State::requireOpen() const {
  if (stopping) throw Error(ErrorCode::kDisposed, "the engine was disposed; load another");
}

Session& Engine::State::requireSession(SessionId id) {
  if (Session* session = sessions->find(id)) return *session;
  for (const auto& [session, error] : ended) {
    if (session == id) throw error;
  }
  if (sessions->wasCreated(id)) {
    throw Error(ErrorCode::kDisposed, "session " + std::to_string(id) + " was disposed; create another");
  }
  throw Error(ErrorCode::kInvalidArgument, "there is no session " + std::to_string(id) + "; create one first");
}

void Engine::State::requireIdle(const Session& session) const {
  if (!session.isBusy()) return;
  const std::string running = session.request != 0 ? "request " + std::to_string(session.request)
                                                   : std::to_string(session.samples.size()) + " more samples";
  throw Error(ErrorCode::kSessionBusy, "session " + std::to_string(session.id) + " already runs " + running +
                                           "; wait for it, cancel it, or use another session");
}

void Engine::State::finish(Request& request, FinishReason reason, const Error* error) {
  FinishEvent event;
  event.request = request.id;
  event.reason = reason;
  if (error) {
    event.code = error->code();
    event.message = error->what();
  }
  event.promptTokens = request.promptTokens();
  event.cachedTokens = request.cachedTokens;
  event.outputTokens = static_cast<int32_t>(request.output.size());
  event.timings = request.timings;
  event.timings.finished = clock->now();
  const bool complete = reason != FinishReason::kCancelled && reason != FinishReason::kFailed;
  if (complete && !request.spec.score) sizer->ended(request.length());
  if (complete && request.logits) event.logits = std::move(*request.logits);
  events.finished.push_back(std::move(event));

  const bool hadSession = request.awaits == 0;
  const std::vector<RequestId> samples = std::move(request.samples);
  if (hadSession) scheduler->remove(request);
  std::erase(timed, &request);
  leaveSteps(request);
  const RequestId id = request.id;
  const SessionId holder = request.session;
  requests.erase(id);
  allocator->trace().ownerEnded({OwnerKind::kRequest, id});
  endSamples(samples, reason, error);
  if (!hadSession) return;
  Session* const ended = sessions->find(holder);
  if (ended && ended->parent != 0) return release(*ended, reason, error);
  guarded([&] {
    if (Session* const session = sessions->find(holder)) sessions->trim(*session, inFlight);
  });
  if (Session* const session = sessions->find(holder)) endRequest(*session);
}

void Engine::State::checkAll() const {
  cache->pool().check();
  sessions->check();
  scheduler->check();
  allocator->check();
}

void Engine::State::notify() {
  changed = true;
  wake.notify_one();
}

void Engine::State::close() {
  stopping = disposed = true;
  scheduler.reset();
  sessions.reset();
  runner.reset();
  cache.reset();
  weights.reset();
  allocator->trimPinned();
  try {
    requireEmpty(*allocator);
  } catch (const Error& error) {
    if (violation.empty()) violation = error.what();
  }
  planted.clear();
  allocator.reset();  // and with it the device
}

}  // namespace octavo
