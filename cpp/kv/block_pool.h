// Uniform KV blocks: free, owned by a session, or in flight until a fence. Pure bookkeeping, no device calls.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "memory/ledger.h"

namespace octavo {

using BlockId = int32_t;

/**
 * Hands out block ids, lowest first so that used blocks stay dense on their pages. The ledger shows free
 * blocks as (engine, "kv.free"), owned ones as (session, "kv.blocks"), and released ones whose fence has not
 * passed as (engine, "kv.inFlight").
 * Thread-safe. Invariant: free + owned + in flight = total. One pool a ledger.
 */
class BlockPool {
 public:
  /** Claims `blocks × blockBytes`, already present in the ledger as (engine, kvTag), as free blocks. */
  BlockPool(Ledger& ledger, int64_t blocks, size_t blockBytes, const std::string& kvTag);
  /** Gives every block back to (engine, kvTag), whoever holds it. */
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /** All or nothing: appends `count` blocks of `owner` to `out`; false when fewer are free. */
  bool take(Owner owner, int64_t count, std::vector<BlockId>& out);
  /**
   * Takes blocks off their owner at once; reusable when `fence` is passed (0 = now). All or nothing: throws
   * kInternal naming the block and its last owner when one is not the owner's, or is listed twice.
   */
  void release(Owner owner, const std::vector<BlockId>& blocks, uint64_t fence);
  /** Makes in-flight blocks with fence ≤ `step` reusable. */
  void passFence(uint64_t step);

  int64_t total() const { return total_; }
  int64_t free() const;
  int64_t inFlight() const;
  int64_t owned() const;
  int64_t ownedBy(Owner owner) const;
  size_t blockBytes() const { return blockBytes_; }
  /** Neighbouring blocks of one state and owner. */
  struct Run { BlockId first = 0; int64_t blocks = 0; const char* state = "free"; Owner owner; };
  /** All blocks, by id: "free", "owned", or "inFlight" with the last owner. O(total). */
  std::vector<Run> runs() const;
  /** Throws kInternal naming the block and its last owner when the invariant or the ledger is broken. */
  void check() const;

 private:
  enum class State : uint8_t { kFree, kOwned, kInFlight };
  struct Block { State state = State::kFree; Owner owner; uint64_t fence = 0; };  // owner: the last one

  void takeOff(Owner owner, const std::vector<BlockId>& blocks, const std::string& toTag);
  [[noreturn]] void fail(BlockId id, const std::string& problem) const;
  void checkBlocks() const;
  void checkList(const std::vector<BlockId>& list, State state, std::vector<bool>& seen) const;
  void checkLedger() const;
  void checkLine(Owner owner, const std::string& tag, int64_t blocks, const std::vector<LedgerLine>& lines) const;

  Ledger& ledger_;
  int64_t total_;
  size_t blockBytes_;
  std::string kvTag_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;
  std::vector<BlockId> free_;  // a heap, lowest id on top
  std::vector<BlockId> inFlight_;
  std::map<Owner, int64_t> owned_;  // zeros may stay
  uint64_t passed_ = 0;             // the last fence passed
};

}  // namespace octavo
