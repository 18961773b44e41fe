// What ends by time: requests that stay too long in a stage, sessions whose lease runs out.
#include <algorithm>

#include "engine/engine_state.h"

namespace octavo {

namespace {

constexpr int64_t kMillisecond = 1000000;
constexpr size_t kEndsRemembered = 4096;

Stage stageOf(const Request& request) {
  if (!request.wasAdmitted) return Stage::kQueue;
  const bool isTakenUp = request.spec.score || request.credits > 0;
  return isTakenUp || request.output.empty() ? Stage::kInference : Stage::kPost;
}

const char* adviceFor(Stage stage) {
  switch (stage) {
    case Stage::kQueue: return "allow it more, send less at once, or give it a higher priority";
    case Stage::kInference: return "allow it more, or ask for fewer new tokens";
    case Stage::kPost: return "allow it more, or read what it makes sooner";
  }
  return "allow it more";
}

Error timedOut(const Request& request) {
  const Stage stage = request.timer.stage();
  return {ErrorCode::kTimedOut, std::string("the request spent more than the ") +
                                    std::to_string(request.timer.limits().of(stage) / kMillisecond) +
                                    " ms that it may in the stage '" + stageName(stage) + "': " + adviceFor(stage)};
}

}  // namespace

Error leaseExpired(SessionId id) {
  return {ErrorCode::kLeaseExpired, "the lease of session " + std::to_string(id) +
                                        " ran out without a heartbeat and its KV was reclaimed; create another "
                                        "session and send its whole prompt again"};
}

/** Ends what has run out of time. Cheap while nothing has: deadlines are looked at when the earliest may have come. */
void Engine::State::expire() {
  const int64_t now = clock->now();
  bool moved = false;  // into a stage that may end sooner
  for (Request* request : timed) {
    const Stage stage = stageOf(*request);
    moved = moved || stage != request->timer.stage();
    request->timer.enter(stage, now);
  }
  if (!moved && now < nextExpiry) return;
  std::vector<RequestId> late;
  std::vector<SessionId> silent;
  nextExpiry = StageTimer::kNever;
  for (const Request* request : timed) {
    const int64_t deadline = request->timer.deadline();
    if (deadline <= now) late.push_back(request->id);
    else nextExpiry = std::min(nextExpiry, deadline);
  }
  for (const SessionId id : leased) {
    const Session& session = *sessions->find(id);
    const int64_t deadline = session.lease.deadline(session.isBusy());
    if (deadline <= now) silent.push_back(id);
    else nextExpiry = std::min(nextExpiry, deadline);
  }
  for (const RequestId id : late) {  // the end of one may have been that of another
    const auto request = requests.find(id);
    if (request == requests.end()) continue;
    const Error error = timedOut(*request->second);
    finish(*request->second, FinishReason::kFailed, &error);
  }
  for (const SessionId id : silent) reap(id);
}

void Engine::State::reap(SessionId id) {
  Session* const session = sessions->find(id);
  if (!session) return;
  const Error error = leaseExpired(id);
  release(*session, FinishReason::kFailed, &error);
  rememberEnd(id, error);
}

void Engine::State::rememberEnd(SessionId id, const Error& error) {
  ended.emplace_back(id, error);
  if (ended.size() > kEndsRemembered) ended.pop_front();
}

void Engine::State::release(Session& session, FinishReason reason, const Error* error) {
  const SessionId id = session.id;
  for (const SessionId sample : std::set(session.samples)) {
    if (Session* const forked = sessions->find(sample)) release(*forked, reason, error);
  }
  const auto request = requests.find(session.request);
  if (request != requests.end()) finish(*request->second, reason, error);
  Session* const left = sessions->find(id);
  if (!left) return;  // a sample's, which goes with its request
  leased.erase(id);
  leaveParent(*left);
  guarded([&] {
    if (Session* const mended = sessions->find(id)) sessions->remove(*mended, inFlight);
  });
  allocator->trace().ownerEnded({OwnerKind::kSession, id});
  notify();  // others may wait for these blocks
}

/** A deadline that may be the earliest. */
void Engine::State::expectExpiry(int64_t deadline) { nextExpiry = std::min(nextExpiry, deadline); }

std::chrono::nanoseconds Engine::State::untilExpiry() const {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
  if (nextExpiry == StageTimer::kNever || options.testing.fakeClock) return kLongest;
  return std::chrono::nanoseconds(std::max<int64_t>(0, nextExpiry - clock->now()));
}

void Engine::State::beginLease(Session& session, const LeaseTerms& terms) {
  session.created = clock->now();
  session.lease = Lease(terms, session.created);
  if (terms.interval <= 0) return;
  leased.insert(session.id);
  expectExpiry(session.lease.deadline(false));
  notify();  // the engine thread may sleep longer than that
}

/** A request is a sign of life, too. */
void Engine::State::beginTimers(Request& request, Session& session) {
  session.lease.renew(clock->now());
  if (!request.timer.limits().any()) return;
  timed.push_back(&request);
  expectExpiry(request.timer.deadline());
}

/** Of its session, which is idle now but for samples that go on. */
void Engine::State::endRequest(Session& session) {
  session.lease.becomeIdle(clock->now());
  expectExpiry(session.lease.deadline(session.isBusy()));
}

void requireWithinQuota(const Session& session, const RequestSpec& spec, const KvCacheShape& shape) {
  const int64_t each = blocksOf(spec, shape.blockSize);
  const int64_t shared = (static_cast<int64_t>(spec.prompt.size()) - 1) / shape.blockSize;  // by all samples
  const size_t bytes = static_cast<size_t>(each + (spec.samples - 1) * (each - shared)) * shape.blockBytes();
  if (session.quota.max == 0 || bytes <= session.quota.max) return;
  const std::string times = spec.samples == 1 ? "" : " of " + std::to_string(spec.samples) + " samples";
  throw Error(ErrorCode::kQuotaExceeded,
              "prompt and new tokens (" + std::to_string(spec.prompt.size() + static_cast<size_t>(spec.maxNewTokens)) +
                  ")" + times + " need " + std::to_string(bytes) + " bytes of KV; the quota of session " +
                  std::to_string(session.id) + " is " + std::to_string(session.quota.max) +
                  " bytes at most: shorten the request, or create the session with a larger quota.max");
}

void Engine::heartbeat(SessionId id) {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  state_->requireSession(id).lease.renew(state_->clock->now());
}

void Engine::advanceClock(int64_t nanoseconds) {
  const std::lock_guard lock(state_->mutex);
  auto* const fake = dynamic_cast<FakeClock*>(state_->clock.get());
  if (!fake) throw Error(ErrorCode::kInvalidArgument, "the engine runs by the system's clock; it cannot be moved");
  fake->advance(nanoseconds);
  state_->notify();
}

std::vector<SessionInfo> Engine::sessions() const {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  const int64_t now = state_->clock->now();
  const EngineReport report = lockedReport();
  std::vector<SessionInfo> infos;
  for (const SessionReport& held : report.sessions) {
    const Session& session = *state_->sessions->find(held.id);
    SessionInfo& info = infos.emplace_back();
    static_cast<SessionReport&>(info) = held;
    info.tenant = session.tenant;
    info.age = now - session.created;
    info.quota = session.quota;
    info.lease = session.lease.terms();
    if (info.lease.interval > 0) info.leaseLeft = session.lease.deadline(session.isBusy()) - now;
    const auto request = state_->requests.find(session.request);
    if (request == state_->requests.end()) continue;
    info.request = request->second->id;
    info.requestAge = now - request->second->timings.submitted;
    info.stage = stageName(stageOf(*request->second));
  }
  return infos;
}

}  // namespace octavo
