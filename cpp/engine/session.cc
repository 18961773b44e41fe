#include "engine/session.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

namespace {

Owner ownerOf(const Session& session) { return {OwnerKind::kSession, session.id}; }

/** True when `a` should lose its KV before `b`. */
bool losesFirst(const Session* a, const Session* b) {
  const bool aIdle = a->request == 0;
  const bool bIdle = b->request == 0;
  if (aIdle != bIdle) return aIdle;
  return aIdle ? a->lastUse < b->lastUse : a->request > b->request;
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
  int64_t held = idleBlocks(except);
  std::vector<Session*> candidates;
  for (const auto& [id, session] : sessions_) {
    if (!session->running && session.get() != &except && !session->blocks.empty()) candidates.push_back(session.get());
  }
  std::sort(candidates.begin(), candidates.end(), losesFirst);
  for (Session* session : candidates) {
    if (held <= mostBlocks) return;
    held -= static_cast<int64_t>(session->blocks.size());
    session->tokens.clear();
    trim(*session, fence);
  }
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
