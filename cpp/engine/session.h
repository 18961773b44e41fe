// Sessions and the KV they hold. Pure bookkeeping: no device calls, no locks (the engine's state lock guards it).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/events.h"
#include "kv/block_pool.h"

namespace octavo {

struct Session {
  SessionId id = 0;
  std::vector<int32_t> tokens;   // whose KV is held, from position 0
  std::vector<BlockId> blocks;   // block table; covers `tokens`, and while a request runs what it computes next
  RequestId request = 0;         // waiting or running; 0: idle
  bool running = false;          // its blocks are within its request's promise, not reclaimable
  uint64_t lastUse = 0;          // of the table's own counter
};

/**
 * Every `fence` argument is the step in flight (0: none): blocks given up are reusable when it has passed.
 */
class SessionTable {
 public:
  SessionTable(BlockPool& pool, int32_t blockSize, EvictionPolicy policy)
      : pool_(pool), blockSize_(blockSize), policy_(policy) {}

  Session& create();
  /** nullptr when there is no such session. */
  Session* find(SessionId id);
  /** False for ids that were never handed out. */
  bool wasCreated(SessionId id) const { return id >= 1 && id <= lastId_; }
  /** Forgets the session; its blocks leave it at once. */
  void remove(Session& session, uint64_t fence);

  /**
   * Keeps what the session's KV and `prompt` have in common, at least one token short of the prompt so that
   * there is something to compute, and at most `most`; gives up the rest. Returns the tokens kept.
   */
  int32_t keepPrefix(Session& session, const std::vector<int32_t>& prompt, int32_t most, uint64_t fence);
  /**
   * Takes blocks until the first `tokens` positions are covered; false when the pool has too few free. `expected`:
   * positions that will be, as far as is known.
   */
  bool cover(Session& session, int64_t tokens, int64_t expected);
  /** Gives up blocks past the held tokens. */
  void trim(Session& session, uint64_t fence);
  /**
   * Takes KV of sessions that do not run, never `except`'s, until those hold at most `mostBlocks` together. Idle ones
   * lose theirs first, by the policy; then waiting ones, last to be served first. What a session loses is the end of
   * what it holds: the rest is still a prefix.
   */
  void reclaim(int64_t mostBlocks, const Session& except, uint64_t fence);
  /** The same for all that do not run. */
  void reclaim(int64_t mostBlocks, uint64_t fence);

  /** Follows blocks that moved: their bytes are copied by the caller. */
  void relocate(const std::vector<BlockMove>& moves);

  /** Blocks of sessions that do not run, without `except`'s. */
  int64_t idleBlocks(const Session& except) const;
  const EvictionReport& evicted() const { return evicted_; }
  void touch(Session& session) { session.lastUse = ++uses_; }

  const std::map<SessionId, std::unique_ptr<Session>>& all() const { return sessions_; }
  BlockPool& pool() const { return pool_; }
  int32_t blockSize() const { return blockSize_; }
  /** Throws kInternal when tables, tokens and the pool disagree. */
  void check() const;

 private:
  std::vector<Session*> reclaimable(bool idle, const Session& except) const;
  int64_t evict(const std::vector<Session*>& sessions, int64_t wanted, EvictionPolicy policy, uint64_t fence);
  int64_t blocksFor(int64_t tokens) const { return (tokens + blockSize_ - 1) / blockSize_; }

  BlockPool& pool_;
  int32_t blockSize_;
  EvictionPolicy policy_;
  EvictionReport evicted_;
  SessionId lastId_ = 0;
  uint64_t uses_ = 0;
  std::map<SessionId, std::unique_ptr<Session>> sessions_;
};

}  // namespace octavo
