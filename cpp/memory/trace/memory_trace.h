// What happened to memory, when, to whom and called from where.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "memory/trace/event_ring.h"
#include "memory/trace/live_table.h"
#include "memory/trace/spill_file.h"
#include "memory/trace/stack_table.h"
#include "memory/trace/tag_table.h"
#include "memory/trace/trace_options.h"

namespace octavo {

struct TraceSnapshot {
  TraceOptions options;            // `level` as it is now
  int64_t nowNanoseconds = 0;      // of the events' clock
  uint64_t recorded = 0;           // events since the trace was made
  uint64_t overwritten = 0;        // of them, no longer in the ring
  uint64_t dropped = 0;            // not recorded: the host had no memory for them
  uint64_t stacksDropped = 0;      // recorded without their stack: the table was full
  std::vector<TraceEvent> events;  // oldest first
  std::vector<std::string> tags;   // by TagId
  std::vector<StackFrames> stacks;  // by StackId
  std::vector<LiveAllocation> allocations;
  std::vector<LiveSegment> segments;
  std::vector<Holding> holdings;
  std::vector<EndedOwner> ended;
  SpillReport spill;
};

/**
 * Level 0 records nothing and costs one branch a call. 1: one allocation in every `sampleBytes` bytes, with its
 * stack, and its free. 2: every allocation, free, segment, transfer between owners, refusal and end of an owner;
 * stacks where bytes arrive. 3: also snapshots and the stacks of frees, and the spill file.
 *
 * The table of what is live is kept apart from the ring: a leak is found however many events came after it.
 *
 * Thread-safe. Recording never throws. Under 1 µs an event at level 2; at level 3 the thread that records also
 * writes the file. Call the record functions inside whatever lock orders the use of an address: `freeCompleted`
 * before another thread can be handed it, `allocated` after it is this caller's.
 *
 * What enters the ledger is told by `allocated` or, for pages that allocations will lie in, by `segmentMapped`; an
 * allocation in a mapped segment takes its bytes from the segment's line, and no `transferred` goes with it.
 */
class MemoryTrace {
 public:
  MemoryTrace() = default;
  MemoryTrace(const MemoryTrace&) = delete;
  MemoryTrace& operator=(const MemoryTrace&) = delete;

  /** Forgets what was recorded. Throws kInvalidArgument, kOutOfMemory, and kIoFailed for the spill file. */
  void configure(const TraceOptions& options);
  /**
   * From now on. Nothing recorded is lost, but at level 0 the live table is emptied: what is allocated then is
   * unknown later. Throws as `configure`, and leaves the level as it was.
   */
  void setLevel(int level);
  int level() const { return level_.load(std::memory_order_relaxed); }

  void allocated(Region region, const void* address, size_t bytes, Owner owner, std::string_view tag) noexcept {
    if (level() != 0) [[unlikely]] recordAllocated(region, address, bytes, owner, tag);
  }
  void freeRequested(Region region, const void* address, size_t bytes, Owner owner, std::string_view tag) noexcept {
    if (level() != 0) [[unlikely]] recordFree(TraceOperation::kFreeRequested, region, address, bytes, owner, tag);
  }
  void freeCompleted(Region region, const void* address, size_t bytes, Owner owner, std::string_view tag) noexcept {
    if (level() != 0) [[unlikely]] recordFree(TraceOperation::kFreeCompleted, region, address, bytes, owner, tag);
  }
  void segmentMapped(Region region, const void* address, size_t bytes, Owner owner, std::string_view tag) noexcept {
    if (level() > 1) [[unlikely]] recordSegment(true, region, address, bytes, owner, tag);
  }
  void segmentUnmapped(Region region, const void* address, size_t bytes, Owner owner, std::string_view tag) noexcept {
    if (level() > 1) [[unlikely]] recordSegment(false, region, address, bytes, owner, tag);
  }
  void transferred(Region region, Owner from, std::string_view fromTag, Owner to, std::string_view toTag,
                   size_t bytes) noexcept {
    if (level() > 1) [[unlikely]] recordTransfer(region, from, fromTag, to, toTag, bytes);
  }
  void outOfMemory(Region region, size_t bytes, Owner owner, std::string_view tag) noexcept {
    if (level() > 1) [[unlikely]] recordOutOfMemory(region, bytes, owner, tag);
  }
  void ownerEnded(Owner owner) noexcept {
    if (level() != 0) [[unlikely]] recordOwnerEnded(owner);
  }

  /** Copies everything; at level 3 that is an event too. Throws bad_alloc. */
  TraceSnapshot snapshot();
  /** Hands to the system what the spill file has so far. */
  SpillReport flushSpill();
  /** Throws kInternal when what is live contradicts itself. */
  void check() const;

 private:
  void recordAllocated(Region, const void*, size_t, Owner, std::string_view) noexcept;
  void recordFree(TraceOperation, Region, const void*, size_t, Owner, std::string_view) noexcept;
  void recordSegment(bool mapped, Region, const void*, size_t, Owner, std::string_view) noexcept;
  void recordTransfer(Region, Owner from, std::string_view, Owner to, std::string_view, size_t) noexcept;
  void recordOutOfMemory(Region, size_t, Owner, std::string_view) noexcept;
  void recordOwnerEnded(Owner) noexcept;

  // Under the lock.
  void enter(int level);
  bool isSampled(size_t bytes) noexcept;
  void number(TraceEvent& event) noexcept;
  void takeFromSegment(TraceEvent& event) const noexcept;
  void push(const TraceEvent& event) noexcept;
  void spill(const TraceEvent& event);

  std::atomic<int> level_{0};
  mutable std::mutex mutex_;
  TraceOptions options_;
  std::unique_ptr<EventRing> ring_;      // these two from the first level above 0 on
  std::unique_ptr<StackTable> stacks_;
  TagTable tags_;
  LiveTable live_;
  SpillFile spill_;
  StackId spilledStacks_ = 0;            // whose frames are in the file
  uint64_t sinceSample_ = 0, sampledBytes_ = 0;
  uint64_t recorded_ = 0, dropped_ = 0;
};

}  // namespace octavo
