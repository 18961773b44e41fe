// The integrity check of the sessions: tables, tokens, hashes, counts, and whose every block is.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "engine/session.h"

namespace octavo {

void SessionTable::checkSession(const Session& session, std::vector<int32_t>& running) const {
  const std::string name = "session " + std::to_string(session.id);
  const auto held = static_cast<int64_t>(session.blocks.size());
  const int64_t owned = pool_.ownedBy({OwnerKind::kSession, session.id});
  const auto tokens = static_cast<int64_t>(session.tokens.size());
  if (held - blocksOfOthers(session) != owned || held < blocksFor(tokens)) {
    throw Error(ErrorCode::kInternal, name + " lists " + std::to_string(held) + " blocks, " +
                                          std::to_string(blocksOfOthers(session)) + " of them others', for " +
                                          std::to_string(tokens) + " tokens; the pool has " +
                                          std::to_string(owned) + " of it");
  }
  const size_t chained = session.chain.size();
  if (chained * static_cast<size_t>(settings_.blockSize) > session.tokens.size()) {
    throw Error(ErrorCode::kInternal, name + " has hashes of " + std::to_string(chained) + " blocks for " +
                                          std::to_string(tokens) + " tokens");
  }
  for (size_t index = 0; index < session.blocks.size(); ++index) {
    prefix_.requireHeld(session.blocks[index], session.id, index < chained ? &session.chain[index] : nullptr);
    if (session.running) ++running[session.blocks[index]];
  }
  if (chained == 0) return;
  const PrefixHash& before = chained == 1 ? session.root : session.chain[chained - 2];
  if (hasher_.next(before, tokensOf(session.tokens, chained - 1)) == session.chain.back()) return;
  throw Error(ErrorCode::kInternal, "block " + std::to_string(session.blocks[chained - 1]) + " of " + name +
                                        " has another hash than its tokens");
}

void SessionTable::check() const {
  for (const BlockViolation& violation : violations()) {
    throw Error(ErrorCode::kInternal, "KV block " + std::to_string(violation.block) + " " + violation.problem);
  }
  prefix_.check();
  int64_t owned = prefix_.cached(), listed = 0;
  std::vector<int32_t> running(runningOn_.size());
  for (const auto& [id, session] : sessions_) {
    checkSession(*session, running);
    owned += pool_.ownedBy({OwnerKind::kSession, id});
    listed += std::count_if(session->blocks.begin(), session->blocks.end(),
                            [this](BlockId block) { return prefix_.isKnown(block); });
  }
  if (owned != pool_.owned()) {
    throw Error(ErrorCode::kInternal, "sessions and prefix cache own " + std::to_string(owned) +
                                          " blocks; the pool has " + std::to_string(pool_.owned()) + " owned");
  }
  if (listed != prefix_.holders()) {
    throw Error(ErrorCode::kInternal, "sessions list shared or found blocks " + std::to_string(listed) +
                                          " times; these have " + std::to_string(prefix_.holders()) + " holders");
  }
  const auto counted = std::count_if(running.begin(), running.end(), [](int32_t sessions) { return sessions > 0; });
  const int64_t listings = std::accumulate(running.begin(), running.end(), int64_t{0});
  if (running == runningOn_ && counted == runningBlocks_ && listings == runningListings_) return;
  throw Error(ErrorCode::kInternal, "running sessions hold " + std::to_string(counted) + " blocks; counted are " +
                                        std::to_string(runningBlocks_) + ", or others");
}

}  // namespace octavo
