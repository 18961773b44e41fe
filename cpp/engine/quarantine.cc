// A broken block invariant: named, taken out of circulation, and the engine goes on with everything else.
#include <algorithm>

#include "engine/engine_state.h"
#include "memory/trace/symbols.h"

namespace octavo {

namespace {

constexpr size_t kMostRemembered = 16;  // sentences in the report

/** Who got the owner's last block, where the trace has seen it. */
std::string stackOf(const Owner& owner, const TraceSnapshot& trace) {
  const auto isArrival = [&owner](const TraceEvent& event) {
    return event.owner == owner && event.region == Region::kKv && event.stack != 0;
  };
  const auto last = std::find_if(trace.events.rbegin(), trace.events.rend(), isArrival);
  const std::string place = last == trace.events.rend() ? "" : Symboliser().describe(trace.stacks[last->stack]);
  if (!place.empty()) return "it had its last block from " + place;
  return "no stack is known of how it got there: the trace shows it from level 2 on (memory.trace)";
}

Error describe(const BlockViolation& found, const TraceSnapshot& trace) {
  return {ErrorCode::kInternal, "KV block " + std::to_string(found.block) + " " + found.problem + "; owner " +
                                    ownerKindName(found.owner.kind) + " " + std::to_string(found.owner.id) + ", " +
                                    stackOf(found.owner, trace) +
                                    ". The block is in quarantine and sessions that held it have ended: create another "
                                    "and send its whole prompt again. This is a bug of octavo; please report it"};
}

}  // namespace

/** True when something was put into quarantine and all invariants hold again; else what is broken is kept as alarm. */
bool Engine::State::mend() {
  if (mending) return false;
  mending = true;
  bool mended = false;
  try {
    mended = quarantineBlocks();
    if (mended) checkAll();
  } catch (const Error& error) {
    if (violation.empty()) violation = error.what();
    mended = false;
  }
  mending = false;
  return mended;
}

/** False when every block is held as it should be. */
bool Engine::State::quarantineBlocks() {
  const std::vector<BlockViolation> found = sessions->violations();
  if (found.empty()) return false;
  const TraceSnapshot trace = allocator->trace().snapshot();
  std::map<SessionId, Error> touched;
  for (const BlockViolation& each : found) {
    const Error error = describe(each, trace);
    for (const SessionId id : each.sessions) touched.emplace(id, error);
    quarantine.violations.push_back(error.what());
  }
  std::vector<std::string>& told = quarantine.violations;
  const size_t kept = std::min(told.size(), kMostRemembered);
  told.erase(told.begin(), told.end() - static_cast<int64_t>(kept));
  sessions->isolate(found);
  ++mends;
  for (const auto& [id, error] : touched) {
    Session* const session = sessions->find(id);
    if (!session) continue;
    release(*session, FinishReason::kFailed, &error);
    rememberEnd(id, error);
    ++quarantine.sessions;
  }
  sessions->clearPrefixCache(inFlight);  // what was computed from such a block must not be found
  notify();
  return true;
}

/** Runs what gives blocks back. A broken invariant that it meets is mended, and what was left half done is run again. */
void Engine::State::guarded(const std::function<void()>& giveBack) {
  try {
    return giveBack();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInternal) throw;
    if (mending || !mend()) {
      if (violation.empty()) violation = error.what();
      return;
    }
  }
  try {
    giveBack();
  } catch (const Error& error) {
    if (violation.empty()) violation = error.what();
  }
}

void Engine::plantViolation(const std::string& kind, SessionId id, SessionId other) {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  const Session& session = state_->requireSession(id);
  if (session.blocks.empty() || !state_->options.testing.mayPlant) {
    throw Error(ErrorCode::kInvalidArgument, "a fault can be planted in a session that holds blocks, of an engine that "
                                             "was loaded for it");
  }
  BlockPool& pool = state_->cache->pool();
  if (kind == "double") state_->sessions->plantDouble(session, state_->requireSession(other));
  else if (kind == "freed") pool.plant(session.blocks.front(), BlockPool::Fault::kFreed);
  else if (kind == "listed") pool.plant(session.blocks.front(), BlockPool::Fault::kListed);
  else throw Error(ErrorCode::kInvalidArgument, "there is no fault '" + kind + "'; expected double, freed or listed");
}

}  // namespace octavo
