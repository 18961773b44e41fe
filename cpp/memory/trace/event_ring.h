// The last events, in a fixed amount of memory.
#pragma once

#include <cstddef>
#include <vector>

#include "memory/trace/trace_event.h"

namespace octavo {

/** Overwrites the oldest. Not thread-safe. O(1) a push, which allocates nothing. */
class EventRing {
 public:
  /** Takes all its memory here. Throws bad_alloc. */
  explicit EventRing(size_t capacity) : events_(capacity) {}

  void push(const TraceEvent& event) noexcept {
    if (events_.empty()) return;
    events_[next_] = event;
    next_ = next_ + 1 == events_.size() ? 0 : next_ + 1;
    ++pushed_;
  }
  size_t capacity() const { return events_.size(); }
  size_t size() const { return pushed_ < events_.size() ? static_cast<size_t>(pushed_) : events_.size(); }
  uint64_t overwritten() const { return pushed_ - size(); }
  /** Oldest first. */
  std::vector<TraceEvent> all() const {
    std::vector<TraceEvent> all;
    all.reserve(size());
    const auto next = events_.begin() + static_cast<std::ptrdiff_t>(next_);
    if (size() == events_.size()) all.insert(all.end(), next, events_.end());
    all.insert(all.end(), events_.begin(), next);
    return all;
  }

 private:
  std::vector<TraceEvent> events_;
  size_t next_ = 0;
  uint64_t pushed_ = 0;
};

}  // namespace octavo
