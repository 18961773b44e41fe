#include "scripts/bench/native/host/caller.h"

#include <limits>

namespace octavo::bench {

void Caller::wake() {
  {
    const std::lock_guard lock(mutex_);
    pending_ = true;
    ++wakes_;
  }
  woken_.notify_one();
}

void Caller::submit(Engine& engine, int32_t requests, int32_t input, int32_t output) {
  tokens_ = 0;
  running_ = requests;
  for (int32_t index = 0; index < requests; ++index) {
    RequestSpec spec;
    for (int32_t position = 0; position < input; ++position) spec.prompt.push_back(1 + index * input + position);
    spec.maxNewTokens = output;
    spec.sampling.temperature = 0;
    spec.credits = std::numeric_limits<int32_t>::max();
    sessions_.push_back(engine.createSession());
    engine.submit(sessions_.back(), std::move(spec));
  }
}

EngineEvents Caller::take(Engine& engine) {
  {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return pending_; });
    pending_ = false;
  }
  EngineEvents events = engine.drain();
  tokens_ += static_cast<int64_t>(events.tokens.size());
  running_ -= static_cast<int32_t>(events.finished.size());
  for (const FinishEvent& finish : events.finished) {
    if (finish.reason == FinishReason::kFailed) throw Error(finish.code, finish.message);
  }
  return events;
}

void Caller::takeUntil(Engine& engine, int64_t tokens) {
  while (running_ > 0 && tokens_ < tokens) take(engine);
}

int64_t Caller::takeUntilAllDecode(Engine& engine) {
  while (running_ > 0 && begun_.size() < sessions_.size()) {
    for (const TokenEvent& token : take(engine).tokens) begun_.insert(token.request);
  }
  return tokens_;
}

void Caller::disposeSessions(Engine& engine) {
  for (const SessionId session : sessions_) engine.disposeSession(session);
  sessions_.clear();
}

}  // namespace octavo::bench
