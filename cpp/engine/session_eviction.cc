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
    evict(sessions, notRunning() - mostBlocks, policy, fence);
  }
}

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

/** Sessions lose what is theirs alone; where nobody has such, the first one loses all, and the others hold it. */
void SessionTable::evict(const std::vector<Session*>& sessions, int64_t wanted, EvictionPolicy policy,
                         uint64_t fence) {
  const auto isShared = [this](BlockId block) { return prefix_.isShared(block); };
  std::vector<EvictionCandidate> candidates;
  std::vector<Session*> losing;
  for (Session* session : sessions) {  // what is shared is the beginning of the table
    const auto alone = std::partition_point(session->blocks.begin(), session->blocks.end(), isShared);
    if (alone == session->blocks.end()) continue;
    candidates.emplace_back(alone, session->blocks.end());
    losing.push_back(session);
  }
  EvictionPlan plan = pool_.planEviction(candidates, wanted, policy);
  if (losing.empty()) {
    losing.push_back(sessions.front());
    plan.evictions.push_back({0, static_cast<int64_t>(sessions.front()->blocks.size())});
  }
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
