// Uniform KV blocks on pages: free, owned by a session, in flight until a fence, or in quarantine for good.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kv/block_placement.h"
#include "kv/eviction.h"
#include "memory/ledger.h"

namespace octavo {

/** A block's bytes are to be copied from one place to another; the owner's table follows. */
struct BlockMove {
  Owner owner;
  BlockId from = -1, to = -1;
};

/** How a pool lies on its pages. */
struct PoolPages {
  int64_t mapped = 0;       // pages that have memory
  int64_t used = 0;         // of these, with a live (owned or in flight) block on them
  int64_t packed = 0;       // the floor: what the live blocks would need end to end
  size_t mappedBytes = 0, liveBytes = 0;
  size_t stuckBytes = 0;    // on used pages, of no live block
};

/**
 * Hands out block ids. Pages are mapped when a block on them is taken, and given back when no live block is on them
 * and they were not needed for a while. The ledger shows free blocks on mapped pages as (engine, "kv.free"), owned
 * ones as (session, "kv.blocks"), those that the engine owns as (engine, "kv.cached"), released ones whose fence has
 * not passed as (engine, "kv.inFlight"), those that nobody gets any more as (engine, "kv.quarantine"), and what of the
 * mapped pages is in no whole block as (engine, "kv.padding"), whose count is that of the pages.
 * Thread-safe. Invariant: free + owned + in flight = capacity; their pages are mapped. One pool a ledger.
 */
class BlockPool {
 public:
  /** Of the line of a PageRange that a pool stands on. */
  static constexpr const char* kPageTag = "kv.padding";

  /** Over pages of (region kv, engine, kPageTag), none of them mapped, enough for the blocks; they outlive the pool. */
  BlockPool(Ledger& ledger, PageRange& pages, int64_t blocks, size_t blockBytes);
  /** Takes every block back, whoever holds it, and gives the pages back. */
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /**
   * All or nothing: appends `count` blocks of `owner` to `out`, near the last block in it; false when fewer are free.
   * `expected`: how many the owner will take in all, these counted, as far as is known. When the device has no
   * memory for a page any more, the pool's capacity falls to what it holds, and the answer is false.
   */
  bool take(Owner owner, int64_t count, std::vector<BlockId>& out, int64_t expected = 0);
  /**
   * Takes blocks off their owner at once; reusable when `fence` is passed (0 = now). All or nothing: throws
   * kInternal naming the block and its last owner when one is not the owner's, or is listed twice.
   */
  void release(Owner owner, const std::vector<BlockId>& blocks, uint64_t fence);
  /**
   * Blocks change their owner; all or nothing: throws kInternal naming the block and its owner if one is another's.
   */
  void transfer(Owner from, Owner to, const std::vector<BlockId>& blocks);
  /** Who should give blocks up, and how many; candidates as EvictionPlanner takes them, of live blocks alone. */
  EvictionPlan planEviction(const std::vector<EvictionCandidate>& candidates, int64_t wanted,
                            EvictionPolicy policy) const;
  /**
   * Makes in-flight blocks with fence ≤ `step` reusable, and gives back a few pages that were not needed lately. Throws
   * kInternal naming the block when one that is not in flight is listed among them.
   */
  void passFence(uint64_t step);
  /** No page is given back before this step has passed: copies that were enqueued ahead of it read from some. */
  void keepPagesUntil(uint64_t step);

  /** Gives cached pages back until at most `keep` are left; the device must be idle. Returns how many went. */
  int64_t trim(int64_t keep);
  /**
   * A slice of compaction: empties the emptiest pages into free blocks of fuller ones; at most 64 blocks or 64 MiB,
   * but never less than a page of them. The moves count at once: the caller copies them, in this order, on the stream
   * that all users of the blocks share, before anything else. Pages that emptied are cached. None when nothing is
   * gained any more.
   */
  std::vector<BlockMove> compact();
  /** The same between steps: none while what is stuck on partly used pages is within 2.5 % (or 16 MiB). */
  std::vector<BlockMove> compactIfStuck();

  /** The blocks that the pool was made for. */
  int64_t total() const { return total_; }
  /** What can be held at once: the total without quarantine, less after the device refused a page. */
  int64_t capacity() const;
  /** After a refusal: the device has so many bytes free again. */
  void raiseCapacity(size_t freeBytes);
  int64_t free() const;
  int64_t inFlight() const;
  int64_t owned() const;
  int64_t ownedBy(Owner owner) const;
  bool isOwnedBy(BlockId block, Owner owner) const;

  enum class State : uint8_t { kFree, kOwned, kInFlight, kQuarantined };
  /** What the pool knows of a block. */
  struct Record {
    State state = State::kFree;
    Owner owner;         // the last one
    int32_t listed = 0;  // times on the list of those in flight
  };
  /** Of every block, by id. O(total). */
  std::vector<Record> records() const;
  /**
   * Takes a block out of circulation for good, whatever it was and whoever holds it: its pages stay mapped and it is
   * handed out no more, until the pool ends. Throws kOutOfMemory when it has no page and gets none; always safe twice.
   */
  void quarantine(BlockId block);
  /** Blocks in quarantine. */
  int64_t quarantined() const;
  /** A fault on purpose, for tests: an owned block becomes free, or is listed as in flight too, behind its owner's back. */
  enum class Fault : uint8_t { kFreed, kListed };
  void plant(BlockId block, Fault fault);
  size_t blockBytes() const { return pages_.blockBytes(); }
  PoolPages pages() const;
  /** Neighbouring blocks of one state and owner. */
  struct Run { BlockId first = 0; int64_t blocks = 0; const char* state = "free"; Owner owner; };
  /** All by id: "free", "owned", "cached" (the engine's), "inFlight" or "quarantine" with the last owner. O(total). */
  std::vector<Run> runs() const;
  /** Pages that have memory, in order. */
  std::vector<PageRuns::Run> mappedRuns() const;
  /** Throws kInternal naming the block and its last owner when the invariant or the ledger is broken. */
  void check() const;

 private:
  struct Block { State state = State::kFree; Owner owner; uint64_t fence = 0; };  // owner: the last one

  /** Blocks [first, end) that lie on pages of their own; how many of them are live. */
  struct BlockGroup { BlockId first, end; int64_t live; };

  bool placeAll(Owner owner, int64_t count, int64_t expected, std::vector<BlockId>& out);
  BlockId place(BlockId last, int64_t wanted);
  bool mapFor(const BlockPlacement::Choice& choice);
  void mapPages(int64_t first, int64_t count);
  int64_t unmapCached(int64_t most);
  void trimSlowly();
  void setFree(BlockId id);
  void land(std::span<const BlockId> blocks);
  void endQuarantine();
  int64_t live() const { return pages_.liveBlocks(); }
  std::vector<BlockMove> planMoves(int64_t most, bool mayMap);
  std::vector<BlockMove> planLargeMoves(int64_t most, bool mayMap);
  std::vector<BlockMove> planGroupMoves(int64_t most, bool mayMap);
  bool mapHole(BlockId id);
  std::vector<BlockGroup> partlyUsedGroups() const;
  std::vector<BlockMove> planSingleMoves(int64_t most);
  int64_t pagesAlone(BlockId id) const;
  int64_t mostMovesAStep() const;
  std::vector<int64_t> pagesByFill() const;
  bool canEmpty(int64_t page, std::vector<BlockId>& leaving) const;
  bool canEmpty(const BlockGroup& group, std::vector<BlockId>& leaving) const;
  bool isHole(BlockId id, int64_t emptying) const;
  void addHoles(int64_t page, std::vector<BlockId>& holes) const;
  void fillHoles(int64_t page, const std::vector<BlockId>& leaving, std::vector<BlockId>& holes,
                 std::vector<BlockMove>& moves);
  void move(BlockId from, BlockId to, std::vector<BlockMove>& moves);

  bool isHeld(BlockId id, Owner owner) const;
  void takeOff(Owner owner, const std::vector<BlockId>& blocks, const std::string& toTag);
  [[noreturn]] void fail(BlockId id, const std::string& problem) const;
  void checkBlocks() const;
  void checkInFlight(std::vector<bool>& seen) const;
  void checkLedger() const;
  void checkLine(Owner owner, const std::string& tag, int64_t count, size_t bytes,
                 const std::vector<LedgerLine>& lines) const;

  Ledger& ledger_;
  int64_t total_;
  int64_t capacity_;
  BlockPages pages_;
  BlockPlacement placement_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;
  std::vector<BlockId> inFlight_;
  std::map<Owner, int64_t> owned_;  // zeros may stay
  int64_t quarantined_ = 0;
  uint64_t passed_ = 0;             // the last fence passed
  uint64_t keptUntil_ = 0;          // and the one before which pages stay
  // The most pages used in this window of fences and in the one before: so many stay mapped.
  int64_t usedPeak_ = 0, usedPeakBefore_ = 0;
  uint64_t fences_ = 0;             // passed, counted
  uint64_t nextCompaction_ = 0;     // between steps, by `fences_`
};

}  // namespace octavo
