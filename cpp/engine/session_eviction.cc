// Whose KV gives way to those who run.
#include <algorithm>

#include "engine/session.h"

namespace octavo {

namespace {

/** True when `a` should lose its KV before `b`; both are idle, or both wait. */
bool losesFirst(const Session* a, const Session* b) {
  return a->request == 0 ? a->lastUse < b->lastUse : a->request > b->request;
}

}  // namespace

void SessionTable::reclaim(int64_t mostBlocks, uint64_t fence) {
  prefix_.evict(notRunning() - mostBlocks, true, fence);
  reclaimSessions(true, settings_.eviction, mostBlocks, fence);
  prefix_.evict(notRunning() - mostBlocks, false, fence);
  reclaimSessions(false, EvictionPolicy::kLru, mostBlocks, fence);
  prefix_.evict(notRunning() - mostBlocks, false, fence);  // which the waiting ones had shared with nobody who runs
}

void SessionTable::makeFree(int64_t blocks, uint64_t fence) {
  const int64_t wanted = blocks - pool_.free() - pool_.inFlight();
  if (wanted > 0) reclaim(notRunning() - wanted, fence);
}

void SessionTable::reclaimSessions(bool idle, EvictionPolicy policy, int64_t mostBlocks, uint64_t fence) {
  while (notRunning() > mostBlocks) {
    const std::vector<Session*> sessions = reclaimable(idle);
    if (sessions.empty()) return;
    if (idle && evictBeyondBase(sessions, notRunning() - mostBlocks, policy, fence)) continue;
    evict(sessions, notRunning() - mostBlocks, policy, fence);
  }
}

size_t SessionTable::baseBlocks(const Session& session) const { return session.quota.base / pool_.blockBytes(); }

/** Those who hold something, in the order in which they should lose it. */
std::vector<Session*> SessionTable::reclaimable(bool idle) const {
  std::vector<Session*> found;
  for (const auto& [id, session] : sessions_) {
    const bool isIdle = session->request == 0;
    if (isIdle != idle || session->running || session->blocks.empty()) continue;
    found.push_back(session.get());
  }
  std::sort(found.begin(), found.end(), losesFirst);
  return found;
}

/** What idle sessions hold alone and beyond their bases; false when there is none, or nobody has a base. */
bool SessionTable::evictBeyondBase(const std::vector<Session*>& sessions, int64_t wanted, EvictionPolicy policy,
                                   uint64_t fence) {
  const auto hasBase = [this](const Session* session) { return baseBlocks(*session) > 0; };
  if (std::none_of(sessions.begin(), sessions.end(), hasBase)) return false;
  std::vector<EvictionCandidate> candidates;
  std::vector<Session*> losing;
  for (Session* session : sessions) {
    const size_t kept = std::max(baseBlocks(*session), firstAlone(*session));
    if (kept >= session->blocks.size()) continue;
    candidates.push_back(EvictionCandidate(session->blocks).subspan(kept));
    losing.push_back(session);
  }
  if (losing.empty()) return false;
  evict(losing, pool_.planEviction(candidates, wanted, policy), fence);
  return true;
}

/** Sessions lose what is theirs alone; where nobody has such, the first one loses all, and the others hold it. */
void SessionTable::evict(const std::vector<Session*>& sessions, int64_t wanted, EvictionPolicy policy,
                         uint64_t fence) {
  std::vector<EvictionCandidate> candidates;
  std::vector<Session*> losing;
  for (Session* session : sessions) {
    const size_t alone = firstAlone(*session);
    if (alone == session->blocks.size()) continue;
    candidates.push_back(EvictionCandidate(session->blocks).subspan(alone));
    losing.push_back(session);
  }
  EvictionPlan plan = pool_.planEviction(candidates, wanted, policy);
  if (losing.empty()) {
    losing.push_back(sessions.front());
    plan.evictions.push_back({0, static_cast<int64_t>(sessions.front()->blocks.size())});
  }
  evict(losing, plan, fence);
}

/** What a session shares is the beginning of its table; the rest begins here. */
size_t SessionTable::firstAlone(const Session& session) const {
  const auto isShared = [this](BlockId block) { return prefix_.isShared(block); };
  const auto alone = std::partition_point(session.blocks.begin(), session.blocks.end(), isShared);
  return static_cast<size_t>(alone - session.blocks.begin());
}

void SessionTable::evict(const std::vector<Session*>& losing, const EvictionPlan& plan, uint64_t fence) {
  for (const Eviction& eviction : plan.evictions) {
    Session& session = *losing[eviction.candidate];
    const size_t left = session.blocks.size() - static_cast<size_t>(eviction.blocks);
    const size_t tokens = std::min(session.tokens.size(), left * static_cast<size_t>(settings_.blockSize));
    evicted_.tokens += static_cast<int64_t>(session.tokens.size() - tokens);
    session.tokens.resize(tokens);
    shorten(session, left, fence, PrefixCache::Leaving::kDrop);
  }
  evicted_.sessions += plan.evictions.size();
  evicted_.blocks += plan.blocks;
  evicted_.pages += plan.pages;
}

}  // namespace octavo
