// Call stacks by number: allocations have few distinct ones.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/trace/stack_walk.h"
#include "memory/trace/trace_event.h"

namespace octavo {

/** A fixed number of stacks, each held once. Not thread-safe. O(1) an `intern`, which allocates nothing. */
class StackTable {
 public:
  /** Takes all its memory here. `capacity` is at least 1. */
  explicit StackTable(uint32_t capacity);
  /** The number of the stack, from 1; 0 for an empty one, and when the table is full and it is not in it. */
  StackId intern(const StackFrames& frames) noexcept;
  /** Of a number that `intern` gave; the empty stack for 0. */
  const StackFrames& frames(StackId id) const { return stacks_[id]; }
  /** All of them by number, the empty stack first. */
  const std::vector<StackFrames>& all() const { return stacks_; }
  /** How many `intern` calls found no room. */
  uint64_t dropped() const { return dropped_; }

 private:
  uint32_t capacity_;
  std::vector<StackFrames> stacks_;
  std::vector<StackId> slots_;  // open addressing, twice as many as stacks, a power of two
  uint64_t dropped_ = 0;
};

}  // namespace octavo
