// What no engine must come to: work that could be done, and nothing that does it; counts that do not agree.
#include <algorithm>

#include "engine/engine_state.h"

namespace octavo {

namespace {

constexpr size_t kMostNamed = 16;  // requests in a dump

std::string describe(const Request& request) {
  const auto held = request.holder ? request.holder->blocks.size() : 0;
  return "request " + std::to_string(request.id) + " of session " + std::to_string(request.session) + " (" +
         (request.running ? "running" : "waiting") + ", " + std::to_string(request.length()) + " tokens, holds " +
         std::to_string(held) + " of " + std::to_string(request.promisedBlocks) + " blocks)";
}

std::string describe(const std::vector<Request*>& requests) {
  std::string text;
  for (size_t index = 0; index < std::min(requests.size(), kMostNamed); ++index) {
    text += (index == 0 ? "" : ", ") + describe(*requests[index]);
  }
  return requests.size() <= kMostNamed ? text : text + " and " + std::to_string(requests.size() - kMostNamed) + " more";
}

}  // namespace

/** Called when a step had nothing to do. The first alarm stands until the engine ends; whatever can go on does. */
void Engine::State::watchProgress() {
  const BlockPool& pool = cache->pool();
  if (!violation.empty() || failure || pool.inFlight() > 0) return;
  const std::vector<Request*>& running = scheduler->running();
  const auto couldRun = [](const Request* request) { return !request->isPaused(); };
  const Request* const next = running.empty() ? scheduler->waiting().next() : nullptr;
  const bool shutOut = next && next->promisedBlocks <= pool.capacity();
  if (!shutOut && std::none_of(running.begin(), running.end(), couldRun)) return;
  violation = "after step " + std::to_string(step) + " nothing runs that could: " + std::to_string(pool.free()) +
              " of " + std::to_string(pool.capacity()) + " KV blocks are free, " +
              std::to_string(sessions->runningBlocks()) + " of running sessions; " + describe(running) +
              (running.empty() ? "" : "; ") + describe(scheduler->waiting().all());
}

/** What a quarantine of blocks cannot mend is kept, the first of it; nothing is stopped for it. */
void Engine::State::lookOver() {
  try {
    checkAll();
  } catch (const Error& error) {
    if (!mend() && violation.empty()) violation = error.what();
  }
}

}  // namespace octavo
