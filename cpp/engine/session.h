// Sessions and the KV they hold. Pure bookkeeping: no device calls, no locks (the engine's state lock guards it).
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/events.h"
#include "engine/lease.h"
#include "engine/session_options.h"
#include "kv/block_pool.h"
#include "kv/prefix_cache.h"

namespace octavo {

struct Session {
  SessionId id = 0;
  std::vector<int32_t> tokens;   // whose KV is held, from position 0
  std::vector<BlockId> blocks;   // block table; covers `tokens`, and while a request runs what it computes next
  RequestId request = 0;         // waiting or running; 0: idle
  bool running = false;          // its blocks are within its request's promise, not reclaimable
  uint64_t lastStep = 0;         // the last that used its blocks
  uint64_t lastUse = 0;          // of the table's own counter
  std::string tenant;
  PrefixHash root;               // of its tenant's chains
  std::vector<PrefixHash> chain; // of its leading blocks that can be found; the rest are its own, or a fork's too
  PrefixUse use;                 // of its request
  SessionQuota quota;
  StageLimits stages;            // of its requests that have none of their own
  Lease lease;
  int64_t created = 0;           // by the engine's clock
  SessionId parent = 0;          // of a sample's session: whose prompt it shares; 0: a caller's
  std::set<SessionId> samples;   // sessions whose parent it is

  /** Its request, or a sample of it, waits or runs. */
  bool isBusy() const { return request != 0 || !samples.empty(); }
};

/** A block that tables, lists and pool do not agree about, and the sessions that hold it, should, or did last. */
struct BlockViolation {
  BlockId block = -1;
  Owner owner;                   // as the pool has it, the last one
  std::string problem;           // "is listed by session 5, …"
  std::vector<SessionId> sessions;
};

/** What sessions stand on. */
struct SessionSettings {
  int32_t blockSize = 0;         // a power of two
  EvictionPolicy eviction = EvictionPolicy::kPageAware;
  PrefixOptions prefix;
  PrefixHasher::Key key;         // of the blocks' hashes
  std::string model = {};        // what makes KV of the same tokens different KV
};

/**
 * Every `fence` argument is the last step in flight (0: none): blocks given up are reusable when it has passed, or the
 * last step that used them, which may be an earlier one.
 *
 * Sessions may share blocks: those found in the prefix cache, and those of a fork. Nobody writes into a shared block:
 * whoever must, takes a copy first.
 */
class SessionTable {
 public:
  /** `clock` outlives the table. */
  SessionTable(BlockPool& pool, const Clock& clock, const SessionSettings& settings);

  /** Its blocks are shared with sessions of the same tenant alone. */
  Session& create(const std::string& tenant = "");
  /** A session that holds what an idle one does, in the same blocks. */
  Session& fork(const Session& session);
  /** nullptr when there is no such session. */
  Session* find(SessionId id);
  /** False for ids that were never handed out. */
  bool wasCreated(SessionId id) const { return id >= 1 && id <= lastId_; }
  /** Forgets the session; its blocks leave it at once. */
  void remove(Session& session, uint64_t fence);

  /**
   * Keeps what the session's KV and `prompt` have in common, at least one token short of the prompt so that
   * there is something to compute, and at most `most`; gives up the rest, for more of the prompt where the prefix
   * cache has it. Returns the tokens kept. `again`: of a request that goes on, whose use of the blocks counts already.
   */
  int32_t keepPrefix(Session& session, const std::vector<int32_t>& prompt, int32_t most, uint64_t fence,
                     bool again = false);
  /**
   * Takes blocks until the first `tokens` positions are covered, and makes those past the held ones writable; false
   * when the pool has too few free. `expected`: positions that will be, as far as is known.
   */
  bool cover(Session& session, int64_t tokens, int64_t expected, uint64_t fence);
  /** `cover` has nothing to do. Asked of every sequence in every step. */
  bool isCovered(const Session& session, int64_t tokens) const {
    if (tokens > static_cast<int64_t>(session.blocks.size()) << shift_) return false;
    const BlockId block = partlyFilled(session);
    return block < 0 || !prefix_.isKnown(block);
  }
  /** The next token goes into a block that others hold too: a copy of it comes first. */
  bool mustCopy(const Session& session) const;
  /** Blocks that `cover` would take: those missing, and one for a copy. */
  int64_t blocksToCover(const Session& session, int64_t tokens) const;
  /** Takes KV that no running session holds until so many blocks are free, or will be when fences have passed. */
  void makeFree(int64_t blocks, uint64_t fence);
  /**
   * The blocks that the session would hold and not copy if it ran a request with this prompt, of those that are there.
   * O(prompt).
   */
  std::vector<BlockId> preview(const Session& session, const std::vector<int32_t>& prompt) const;
  /** Blocks to be copied ahead of the next step, in order. */
  std::vector<BlockMove> takeCopies() { return std::exchange(copies_, {}); }
  /** Blocks that its tokens fill can be found from now on. */
  void publish(Session& session, uint64_t fence);
  /** Gives up blocks past the held tokens. */
  void trim(Session& session, uint64_t fence);
  /** Its blocks are, or are no more, within a promise. */
  void setRunning(Session& session, bool running);
  /**
   * Takes KV that no running session holds until at most `mostBlocks` of it are left, below 0 also what others share
   * with running ones: first kept blocks that were used
   * once, then idle sessions' by the policy, beyond their base first, then the other kept ones, then waiting ones',
   * last to be served first. What a session loses is the end of what it holds: the rest is still a prefix.
   */
  void reclaim(int64_t mostBlocks, uint64_t fence);

  /** Gives back all that is kept for nobody. */
  void clearPrefixCache(uint64_t fence) { prefix_.clear(fence); }

  /** Follows blocks that moved: their bytes are copied by the caller. */
  void relocate(const std::vector<BlockMove>& moves);

  const EvictionReport& evicted() const { return evicted_; }
  PrefixReport prefixReport() const { return prefix_.report(); }
  /** Blocks in its table that are on other sessions' ledger lines. */
  int64_t blocksOfOthers(const Session& session) const;
  /** Blocks that running sessions hold, each counted once, and as often as one of them lists it. */
  int64_t runningBlocks() const { return runningBlocks_; }
  int64_t runningListings() const { return runningListings_; }
  void touch(Session& session) { session.lastUse = ++uses_; }

  const std::map<SessionId, std::unique_ptr<Session>>& all() const { return sessions_; }
  BlockPool& pool() const { return pool_; }
  int32_t blockSize() const { return settings_.blockSize; }
  /** Throws kInternal when tables, tokens, the prefix cache and the pool disagree. */
  void check() const;

  // session_violations.cc
  /** All blocks that are not held as they should be, by id. O(pool + listings). */
  std::vector<BlockViolation> violations() const;
  /**
   * Takes such blocks out of circulation: no table, list or cache has them any more. Sessions that held one have lost
   * its place in their table and all their tokens; they must be removed. Throws what BlockPool::quarantine throws.
   */
  void isolate(const std::vector<BlockViolation>& violations);
  /** A fault on purpose, for tests: the last block of this session becomes that of another's too, in place of its own. */
  void plantDouble(const Session& session, Session& other);

 private:
  std::vector<Session*> reclaimable(bool idle) const;
  size_t baseBlocks(const Session& session) const;
  size_t firstAlone(const Session& session) const;
  void reclaimSessions(bool idle, EvictionPolicy policy, int64_t mostBlocks, uint64_t fence);
  bool evictBeyondBase(const std::vector<Session*>& sessions, int64_t wanted, EvictionPolicy policy, uint64_t fence);
  void evict(const std::vector<Session*>& sessions, int64_t wanted, EvictionPolicy policy, uint64_t fence);
  void evict(const std::vector<Session*>& losing, const EvictionPlan& plan, uint64_t fence);
  int64_t notRunning() const { return pool_.owned() - runningBlocks_; }
  int64_t blocksFor(int64_t tokens) const { return (tokens + settings_.blockSize - 1) >> shift_; }
  std::span<const int32_t> tokensOf(const std::vector<int32_t>& tokens, size_t block) const;
  std::vector<PrefixHash> chainOf(const Session& session, const std::vector<int32_t>& prompt, size_t blocks) const;
  size_t findMore(Session& session, const std::vector<int32_t>& prompt, size_t kept, size_t limit, uint64_t fence);
  void shorten(Session& session, size_t blocks, uint64_t fence, PrefixCache::Leaving leaving);
  /** The block that the next token goes into, when it holds tokens already; -1: there is none. */
  BlockId partlyFilled(const Session& session) const {
    const size_t index = session.tokens.size() >> shift_;
    const bool isFull = index << shift_ == session.tokens.size();
    return isFull || index >= session.blocks.size() ? -1 : session.blocks[index];
  }
  bool makeWritable(Session& session, uint64_t fence);
  void countRunning(const Session& session, size_t firstBlock, int change);
  void replace(Session& session, size_t index, BlockId block);
  void checkSession(const Session& session, std::vector<int32_t>& running) const;
  std::vector<SessionId> rightfulHolders(BlockId block, const BlockPool::Record& record) const;
  std::string problemOf(BlockId block, const BlockPool::Record& record) const;
  std::vector<BlockViolation> withListers(std::map<BlockId, BlockViolation> found) const;
  void recountRunning();

  BlockPool& pool_;
  SessionSettings settings_;
  int shift_;  // tokens to blocks
  PrefixHasher hasher_;
  PrefixCache prefix_;
  EvictionReport evicted_;
  SessionId lastId_ = 0;
  uint64_t uses_ = 0;
  std::map<SessionId, std::unique_ptr<Session>> sessions_;
  std::vector<int32_t> runningOn_;  // by block: running sessions that hold it
  int64_t runningBlocks_ = 0;       // how many of these are not 0
  int64_t runningListings_ = 0;     // all of them together
  std::vector<BlockMove> copies_;
};

}  // namespace octavo
