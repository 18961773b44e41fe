// Full KV blocks found by what they hold, shared by the sessions that need them, kept when none does.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "kv/block_pool.h"
#include "kv/prefix_hash.h"
#include "kv/reuse_history.h"

namespace octavo {

/**
 * Which kept block goes first. kLru2 (O'Neil, O'Neil, Weikum 1993, K = 2): the one whose second-last use is oldest,
 * blocks used once before all others; kLru: the one whose last use is oldest. Of equals kLru2 takes the deeper in its
 * sequence, so that what stays can still be reached from its beginning; kLru is the textbook's, which touches a
 * sequence from its beginning on.
 */
enum class PrefixEviction : uint8_t { kLru2, kLru };

struct PrefixOptions {
  bool enabled = false;          // false: nothing is found or kept, but sessions may still share what one forked
  PrefixEviction eviction = PrefixEviction::kLru2;
  double share = 1;              // of the pool's capacity that blocks without a holder may have
  int64_t retention = 0;         // nanoseconds after its last use in which a block used twice goes after all others
  int64_t correlatedUses = 0;    // a use within so many requests of the last counts as the same use
};

/** One request's use of blocks: all its uses of one block are one. */
struct PrefixUse {
  int64_t number = 0;            // of PrefixCache::nextUse
  int64_t time = 0;              // nanoseconds of the clock
};

/** Since the load. */
struct PrefixReport {
  bool enabled = false;
  int64_t blocks = 0;            // that can be found now
  int64_t cached = 0;            // of these, held by no session
  int64_t shared = 0;            // blocks that several sessions hold
  int64_t history = 0;           // evicted blocks whose last use is remembered
  uint64_t queries = 0, queryTokens = 0;  // prompts looked up
  uint64_t sessionTokens = 0;    // of these tokens, found in the session's own KV
  uint64_t hitTokens = 0;        // and beyond that in blocks of others, or of nobody
  uint64_t evicted = 0;          // blocks
  uint64_t merged = 0;           // blocks given up because another with the same tokens was there first
  uint64_t copied = 0;           // blocks copied before a write
};

/**
 * Every block has one owner in the pool and on the ledger: the session that has held it longest, else, when it is kept
 * for the next who needs it, the engine (tag "kv.cached"). A block that one session alone holds and that cannot be
 * found is not known here. Not thread-safe: the engine's state lock guards it.
 *
 * Holders are session ids. Every `fence` is the last step that may use the block on the holder's behalf (0: none): a
 * block given up is reusable after the last of them.
 */
class PrefixCache {
 public:
  enum class Leaving : uint8_t { kKeep, kDrop };  // a block that can be found and that nobody else holds

  PrefixCache(BlockPool& pool, const Clock& clock, const PrefixOptions& options);

  bool enabled() const { return options_.enabled; }
  /** For a request that begins: references are counted and ordered by it. */
  PrefixUse nextUse() { return {uses_++, clock_.now()}; }

  /** How many leading blocks of the chain can be found. O(result). */
  size_t match(std::span<const PrefixHash> chain) const;
  /** And which they are. */
  std::vector<BlockId> blocksOf(std::span<const PrefixHash> chain) const;
  /** The session, which holds none of them, holds the blocks of these hashes, all of which can be found. */
  std::vector<BlockId> hold(std::span<const PrefixHash> chain, uint64_t session, PrefixUse use);
  /** Counts the use of blocks that the session holds already. */
  void touch(std::span<const BlockId> blocks, PrefixUse use);
  /**
   * A full block of the session can be found from now on, as the `depth`-th of its sequence. Where another block with
   * that hash is there, the session holds that one and its own is given up. Returns the one to use.
   */
  BlockId enter(const PrefixHash& hash, int32_t depth, BlockId block, uint64_t session, PrefixUse use,
                uint64_t fence);
  /** `to` holds too what `from` holds. */
  void share(std::span<const BlockId> blocks, uint64_t from, uint64_t to);
  /** The session lets go of blocks it holds; what it alone had goes back to the pool, or is kept to be found. */
  void leave(uint64_t session, std::span<const BlockId> blocks, uint64_t fence, Leaving leaving);

  /** Its holder may write into the block: it cannot be found any more. False: it has several. */
  bool claim(BlockId block);

  /**
   * Gives kept blocks back until `wanted` are free of them; fewer when there are no more. `coldOnly`: only blocks that
   * were used once (kLru: all). Returns how many went.
   */
  int64_t evict(int64_t wanted, bool coldOnly, uint64_t fence);
  /** Evicts all that is kept, and forgets when it was used. */
  void clear(uint64_t fence);
  /** Evicts what is kept beyond the share; after any `leave`. */
  void enforceShare(uint64_t fence) { evict(cached() - mostCached(), false, fence); }

  /** Follows a block that moved. Returns its holders; none for a block that is not known. */
  std::vector<uint64_t> relocate(BlockId from, BlockId to);
  /** True for a block that is shared, or that can be found. */
  bool isKnown(BlockId block) const { return known_[static_cast<size_t>(block)]; }
  /** True when several sessions hold the block. */
  bool isShared(BlockId block) const;
  /** The session whose ledger line has the block that `session` holds. */
  uint64_t ownerOf(BlockId block, uint64_t session) const;
  /** Blocks that nobody holds and that can be found. */
  int64_t cached() const { return static_cast<int64_t>(ordinary_.size() + retained_.size()); }

  void countQuery(size_t promptTokens, size_t sessionTokens, size_t hitTokens);
  void countCopy() { ++report_.copied; }
  PrefixReport report() const;

  /** Who holds a block that is known here, its owner first. */
  std::vector<uint64_t> holdersOf(BlockId block) const;
  /** Forgets a block, whoever holds it, whatever else is wrong with it; the pool is not told. O(cached). */
  void strike(BlockId block);

  /** Holders of all blocks known here together. */
  int64_t holders() const;
  /** Throws kInternal naming the block when the session does not hold it, under that hash if one is given. */
  void requireHeld(BlockId block, uint64_t session, const PrefixHash* hash) const;
  /** Throws kInternal naming the block when tables, holders, order and pool disagree. */
  void check() const;

 private:
  struct Entry {
    BlockId block = -1;
    bool found = false;          // listed by its hash
    PrefixHash hash;
    int32_t depth = 0;
    int64_t last = -1, before = -1;  // uses: the last, and the one before it; -1: none
    int64_t time = 0;            // of the last
    bool retained = false;       // in retained_ while nobody holds it
    uint64_t fence = 0;          // the last step that one who let go of it was in
    std::vector<uint64_t> holders;   // the owner first
  };
  struct ByUse {
    PrefixEviction eviction;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct ByTime { bool operator()(const Entry* a, const Entry* b) const; };

  const Entry* find(BlockId block) const { return isKnown(block) ? &entries_.find(block)->second : nullptr; }
  Entry* find(BlockId block) { return isKnown(block) ? &entries_.find(block)->second : nullptr; }
  /** Of a block that may not be known yet. */
  Entry& entryFor(BlockId block);
  void erase(BlockId block);
  void countUse(Entry& entry, PrefixUse use);
  void addHolder(Entry& entry, uint64_t session, std::vector<BlockId>& taken);
  bool removeHolder(Entry& entry, uint64_t session);
  void keep(Entry& entry);
  void unkeep(Entry& entry);
  void forget(Entry& entry);
  void endRetention();
  Entry* nextVictim(bool coldOnly);
  int64_t mostCached() const;
  size_t historySize() const;
  void checkEntry(const Entry& entry) const;

  BlockPool& pool_;
  const Clock& clock_;
  PrefixOptions options_;
  int64_t uses_ = 0;
  std::unordered_map<BlockId, Entry> entries_;  // nodes stay where they are
  std::vector<bool> known_;  // by block: it has an entry. Asked of every sequence in every step
  std::unordered_map<PrefixHash, Entry*, PrefixHash::Bucket> byHash_;
  // Those that nobody holds, the next to go first; the retained ones by their last use.
  std::set<Entry*, ByUse> ordinary_;
  std::set<Entry*, ByTime> retained_;
  ReuseHistory history_;
  PrefixReport report_;
};

}  // namespace octavo
