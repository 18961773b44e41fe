// The tracer's state at one moment, summed for a report.
#pragma once

#include "trace/tracer.h"

namespace octavo::memtrace {

struct Snapshot {
  /** exit, _exit, live, SIGSEGV … */
  const char* reason;
  int64_t time;
  /** Largest first. */
  List<Group> unmatched;
  List<Group> endedWithContext;
  List<Group> unknownFrees;
  List<Group> refusedFrees;
  /** Memory, without streams and other objects: all that began, and what of it has not been freed. */
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t unmatchedAllocations = 0;
  uint64_t unmatchedBytes = 0;
  /** False when a lock stayed held: the process ends in the middle of a call. */
  bool complete = true;
  /** Whether malloc and the loader's lock may be used. */
  bool mayAllocate = true;

  /** Unmatched of all allocations of memory, in hundredths of a percent. */
  uint64_t unmatchedShare() const { return allocations == 0 ? 0 : unmatchedAllocations * 10000 / allocations; }
  void release();
};

/** `patience` as in Hold: 0 waits for every lock. */
void takeSnapshot(const char* reason, int patience, Snapshot* snapshot);

}  // namespace octavo::memtrace
