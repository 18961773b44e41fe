// The allocations that live, in shards so that threads seldom meet.
#pragma once

#include "base/hash_map.h"
#include "base/list.h"
#include "base/spin_lock.h"
#include "trace/allocation.h"

namespace octavo::memtrace {

class LiveTable {
 public:
  enum class Added { kNew, kReplaced, kNoMemory };

  /** O(1). A record at the same address is replaced: its free took a way that is not traced. */
  Added add(const Allocation& allocation, Allocation* replaced);

  /** Takes the allocation at an address out; false when none is known. O(1). */
  bool take(Space space, uint64_t address, Allocation* allocation);

  /** Calls `visit(const Allocation&)` for each, a shard at a time under its lock; false when a shard stayed locked. */
  template <typename Visit>
  bool forEach(int patience, Visit visit) {
    bool complete = true;
    for (auto& shard : shards_) {
      const Hold hold(shard.lock, patience);
      complete = complete && hold.held();
      if (!hold.held()) continue;
      shard.map.forEach([&](uint64_t, const Allocation& allocation) { visit(allocation); });
    }
    return complete;
  }

  /** Takes out all that `matches`, calling `visit` for each. */
  template <typename Matches, typename Visit>
  void takeAll(Matches matches, Visit visit) {
    for (auto& shard : shards_) {
      const Hold hold(shard.lock);
      List<uint64_t> keys;
      shard.map.forEach([&](uint64_t key, const Allocation& allocation) {
        if (matches(allocation)) keys.add(key);
      });
      for (const uint64_t key : keys) {
        Allocation allocation;
        if (shard.map.take(key, &allocation)) visit(allocation);
      }
      keys.clear();
    }
  }

  /** Forgets everything, locks included: for the child of a fork. */
  void abandon();

 private:
  static constexpr size_t kShards = 64;
  struct alignas(64) Shard {
    SpinLock lock;
    HashMap<Allocation> map;
  };

  /** Device addresses have at most 57 bits: the space fits above. */
  static uint64_t keyOf(Space space, uint64_t address) { return static_cast<uint64_t>(space) << 58 ^ address; }
  Shard& shardOf(uint64_t key) { return shards_[(key * 0xd6e8feb86659fd93u >> 32) % kShards]; }

  Shard shards_[kShards];
};

}  // namespace octavo::memtrace
