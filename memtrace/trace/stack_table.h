// Call stacks, each kept once; an allocation carries its number.
#pragma once

#include "base/hash_map.h"
#include "base/list.h"
#include "base/spin_lock.h"

namespace octavo::memtrace {

constexpr int kMaximumFrames = 64;

/** Frames from the innermost outwards: return addresses, then Python frames (stack/python.h). */
struct Frames {
  uint64_t frame[kMaximumFrames];
  int count = 0;

  void add(uint64_t value) {
    if (count < kMaximumFrames) frame[count++] = value;
  }
};

class StackTable {
 public:
  /** The number of this stack, from 1; 0 when there is no memory. Counts one allocation for it. O(frames). */
  uint32_t intern(const Frames& frames);

  /** The frames of a number, and how many allocations came from there; false for 0 or a lock that stayed held. */
  bool read(uint32_t stack, int patience, Frames* frames, uint64_t* allocations);

  /** Calls `visit(number)` for every stack known. */
  template <typename Visit>
  void forEach(Visit visit) const {
    for (uint32_t shard = 0; shard < kShards; shard++) {
      for (uint32_t entry = 0; entry < shards_[shard].entries.size(); entry++) visit(entry * kShards + shard + 1);
    }
  }

  /** Stacks known. */
  size_t size() const;

  void abandon();

 private:
  static constexpr uint32_t kShards = 16;
  struct Entry {
    uint64_t allocations;
    uint32_t first;
    uint32_t count;
  };
  struct alignas(64) Shard {
    SpinLock lock;
    HashMap<uint32_t> numbers;
    List<Entry> entries;
    List<uint64_t> frames;
  };

  static bool isSame(const Shard& shard, uint32_t entry, const Frames& frames);
  static bool append(Shard& shard, const Frames& frames, uint32_t* entry);

  Shard shards_[kShards];
};

}  // namespace octavo::memtrace
