// Every event as a line of JSON, in the file of OCTAVO_MEMTRACE_EVENTS.
#pragma once

#include "base/spin_lock.h"
#include "base/text.h"
#include "trace/allocation.h"

namespace octavo::memtrace {

class EventLog {
 public:
  /** `operation` is alloc, free or end (with its context). `time` is when it happened, `start` when the trace began. */
  void add(const char* operation, const Allocation& allocation, int64_t time, int64_t start);
  /** A call that has a size and no allocation: trim. */
  void note(const char* operation, uint64_t object, uint64_t bytes, int64_t time, int64_t start);

  /** Writes what is buffered. */
  void flush(int patience);
  /** Appends a line of the caller's (the stacks, at the end), whatever the bound. */
  void append(const Text& line);

  uint64_t written() const { return written_; }
  /** Events past the bound, or that could not be written. */
  uint64_t dropped() const { return dropped_; }

  void abandon();

 private:
  bool isFull();
  void flushLocked();

  SpinLock lock_;
  Text buffer_;
  uint64_t written_ = 0;
  uint64_t dropped_ = 0;
  uint64_t buffered_ = 0;
  bool begun_ = false;
};

}  // namespace octavo::memtrace
