#include "engine/session.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

namespace {

Owner ownerOf(const Session& session) { return {OwnerKind::kSession, session.id}; }

/** True when `a` should lose its KV before `b`; both are idle, or both wait. */
bool losesFirst(const Session* a, const Session* b) {
  return a->request == 0 ? a->lastUse < b->lastUse : a->request > b->request;
}

}  // namespace

Session& SessionTable::create() {
  auto session = std::make_unique<Session>();
  session->id = lastId_ + 1;
  Session& created = *sessions_.emplace(session->id, std::move(session)).first->second;
  lastId_ = created.id;
  touch(created);
  return created;
}

Session* SessionTable::find(SessionId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void SessionTable::remove(Session& session, uint64_t fence) {
  pool_.release(ownerOf(session), session.blocks, fence);
  sessions_.erase(session.id);
}

int32_t SessionTable::keepPrefix(Session& session, const std::vector<int32_t>& prompt, int32_t most,
                                 uint64_t fence) {
  const size_t limit = std::min({session.tokens.size(), prompt.size() - 1, static_cast<size_t>(most)});
  size_t kept = 0;
  while (kept < limit && session.tokens[kept] == prompt[kept]) ++kept;
  session.tokens.resize(kept);
  trim(session, fence);
  return static_cast<int32_t>(kept);
}

bool SessionTable::cover(Session& session, int64_t tokens, int64_t expected) {
  const auto held = static_cast<int64_t>(session.blocks.size());
  const int64_t missing = blocksFor(tokens) - held;
  return missing <= 0 || pool_.take(ownerOf(session), missing, session.blocks, blocksFor(expected) - held);
}

void SessionTable::relocate(const std::vector<BlockMove>& moves) {
  for (const BlockMove& move : moves) {
    std::vector<BlockId>& blocks = find(move.owner.id)->blocks;
    *std::find(blocks.begin(), blocks.end(), move.from) = move.to;
  }
}

void SessionTable::trim(Session& session, uint64_t fence) {
  const auto kept = static_cast<size_t>(blocksFor(static_cast<int64_t>(session.tokens.size())));
  if (session.blocks.size() <= kept) return;
  const std::vector<BlockId> rest(session.blocks.begin() + static_cast<int64_t>(kept), session.blocks.end());
  pool_.release(ownerOf(session), rest, fence);
  session.blocks.resize(kept);
}

int64_t SessionTable::idleBlocks(const Session& except) const {
  int64_t blocks = 0;
  for (const auto& [id, session] : sessions_) {
    if (!session->running && session.get() != &except) blocks += static_cast<int64_t>(session->blocks.size());
  }
  return blocks;
}

void SessionTable::reclaim(int64_t mostBlocks, uint64_t fence) { reclaim(mostBlocks, Session{}, fence); }

void SessionTable::reclaim(int64_t mostBlocks, const Session& except, uint64_t fence) {
  if (pool_.owned() <= mostBlocks) return;  // the usual case, without a walk over the sessions
  int64_t surplus = idleBlocks(except) - mostBlocks;
  if (surplus > 0) surplus -= evict(reclaimable(true, except), surplus, policy_, fence);
  if (surplus > 0) evict(reclaimable(false, except), surplus, EvictionPolicy::kLru, fence);
}

/** Those who hold something, in the order in which they should lose it. */
std::vector<Session*> SessionTable::reclaimable(bool idle, const Session& except) const {
  std::vector<Session*> found;
  for (const auto& [id, session] : sessions_) {
    const bool isIdle = session->request == 0;
    if (isIdle != idle || session->running || session.get() == &except || session->blocks.empty()) continue;
    found.push_back(session.get());
  }
  std::sort(found.begin(), found.end(), losesFirst);
  return found;
}

/** Returns how many blocks went. */
int64_t SessionTable::evict(const std::vector<Session*>& sessions, int64_t wanted, EvictionPolicy policy,
                            uint64_t fence) {
  std::vector<EvictionCandidate> candidates;
  for (const Session* session : sessions) candidates.emplace_back(session->blocks);
  const EvictionPlan plan = pool_.planEviction(candidates, wanted, policy);
  for (const Eviction& eviction : plan.evictions) {
    Session& session = *sessions[eviction.candidate];
    const auto kept = (session.blocks.size() - static_cast<size_t>(eviction.blocks)) * static_cast<size_t>(blockSize_);
    const size_t tokens = std::min(session.tokens.size(), kept);
    evicted_.tokens += static_cast<int64_t>(session.tokens.size() - tokens);
    session.tokens.resize(tokens);
    trim(session, fence);
  }
  evicted_.sessions += plan.evictions.size();
  evicted_.blocks += plan.blocks;
  evicted_.pages += plan.pages;
  return plan.blocks;
}

void SessionTable::check() const {
  int64_t blocks = 0;
  for (const auto& [id, session] : sessions_) {
    const auto held = static_cast<int64_t>(session->blocks.size());
    const int64_t owned = pool_.ownedBy(ownerOf(*session));
    const auto tokens = static_cast<int64_t>(session->tokens.size());
    if (held != owned || held < blocksFor(tokens)) {
      throw Error(ErrorCode::kInternal, "session " + std::to_string(id) + " lists " + std::to_string(held) +
                                            " blocks for " + std::to_string(tokens) + " tokens; the pool has " +
                                            std::to_string(owned) + " of it");
    }
    blocks += held;
  }
  if (blocks != pool_.owned()) {
    throw Error(ErrorCode::kInternal, "all sessions list " + std::to_string(blocks) + " blocks; the pool has " +
                                          std::to_string(pool_.owned()) + " owned");
  }
}

}  // namespace octavo
