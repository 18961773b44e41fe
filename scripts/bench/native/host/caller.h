// Who calls the engine, as the thread of JavaScript does: is woken, takes what there is, counts it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <vector>

#include "engine/engine.h"

namespace octavo::bench {

class Caller {
 public:
  /** For Engine::load: called by the engine's thread. */
  void wake();
  /** A session and a request each: so many prompts of `input` tokens, so many tokens of output. Greedy. */
  void submit(Engine& engine, int32_t requests, int32_t input, int32_t output);
  /** Waits for events and takes them; returns when `tokens` have come since the last submit, or all requests ended. */
  void takeUntil(Engine& engine, int64_t tokens);
  /** The same until every request has had one. Returns the tokens that have come. */
  int64_t takeUntilAllDecode(Engine& engine);
  void disposeSessions(Engine& engine);
  /** Times that it was woken. */
  uint64_t wakes() const { return wakes_; }

 private:
  EngineEvents take(Engine& engine);

  std::mutex mutex_;
  std::condition_variable woken_;
  bool pending_ = false;
  uint64_t wakes_ = 0;
  int64_t tokens_ = 0;
  std::set<RequestId> begun_;
  int32_t running_ = 0;
  std::vector<SessionId> sessions_;
};

}  // namespace octavo::bench
