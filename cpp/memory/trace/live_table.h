// What is held now, whatever the ring has overwritten: allocations, mapped segments, and what each owner has.
#pragma once

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "memory/trace/trace_event.h"

namespace octavo {

struct LiveAllocation {
  uint64_t address = 0, bytes = 0;
  uint64_t sampledBytes = 0;     // level 1: bytes allocated since the sample before, which this one stands for
  Owner owner;
  TagId tag = 0;
  StackId stack = 0;
  uint64_t sequence = 0;         // of the event that allocated it
  int64_t timeNanoseconds = 0;
  uint32_t thread = 0;
  Region region = Region::kWorkspace;
  bool freeRequested = false;
  Owner from;                    // with fromTag: of the segment it lies in, whose bytes these were
  TagId fromTag = 0;
};

/**
 * Physical memory as it was mapped, and the ledger line that it entered: an allocation in it takes its bytes from
 * that line. An allocation outside every segment is one of its own.
 */
struct LiveSegment {
  uint64_t address = 0, bytes = 0;
  Owner owner;
  TagId tag = 0;
  StackId stack = 0;
  uint64_t sequence = 0;
  int64_t timeNanoseconds = 0;
  Region region = Region::kWorkspace;
};

/** Bytes of one owner in one region under one tag, allocated or transferred to it, and where the last came from. */
struct Holding {
  Owner owner;
  Region region = Region::kWorkspace;
  TagId tag = 0;
  uint64_t bytes = 0;
  StackId stack = 0;
  uint64_t sequence = 0;
  int64_t timeNanoseconds = 0;
};

struct EndedOwner {
  Owner owner;
  int64_t timeNanoseconds = 0;
};

/**
 * Not thread-safe. What happened before it was told is unknown to it: frees of unknown addresses and transfers
 * from unknown holdings change nothing, so that it never holds more than there is. Methods may throw bad_alloc.
 */
class LiveTable {
 public:
  void add(const LiveAllocation& allocation);
  /** nullptr when the address is not known. */
  LiveAllocation* find(uint64_t address);
  void remove(uint64_t address);
  /** The mapped segment with that address in it; nullptr when there is none. */
  const LiveSegment* segmentAt(uint64_t address) const;
  void map(const LiveSegment& segment);
  /** Any part of what is mapped; segments are cut where it ends. */
  void unmap(uint64_t address, uint64_t bytes);
  /** From `event.from` to `event.owner`. */
  void transfer(const TraceEvent& event);
  /** Remembered while it still holds something. */
  void end(Owner owner, int64_t timeNanoseconds);
  void clear();

  /** By address. */
  std::vector<LiveAllocation> allocations() const;
  std::vector<LiveSegment> segments() const;
  /** By owner. */
  std::vector<Holding> holdings() const;
  std::vector<EndedOwner> ended() const;
  /** Throws kInternal when allocations and holdings cannot both be true. */
  void check() const;

 private:
  using Key = std::tuple<Owner, Region, TagId>;
  void give(const Holding& more);
  uint64_t take(const Key& key, uint64_t bytes);
  bool holdsAnything(Owner owner) const;

  std::unordered_map<uint64_t, LiveAllocation> allocations_;
  std::map<uint64_t, LiveSegment> segments_;
  std::map<Key, Holding> holdings_;
  std::map<Owner, int64_t> ended_;
};

}  // namespace octavo
