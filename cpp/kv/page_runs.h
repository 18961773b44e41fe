// A set of pages kept as maximal runs.
#pragma once

#include <cstdint>
#include <map>

namespace octavo {

/** Runs of neighbouring pages, merged as they grow. Changes cost O(log runs). */
class PageRuns {
 public:
  struct Run { int64_t first = 0, count = 0; };

  /** Adds pages [first, first + count), none of which is in the set. */
  void add(int64_t first, int64_t count);
  /** Takes pages [first, first + count) out, all of which are in the set. */
  void remove(int64_t first, int64_t count);
  /** The run a page is in; count 0 when it is in none. */
  Run find(int64_t page) const;
  /** The shortest run of at least `count` pages, else the longest there is; count 0 when the set is empty. */
  Run bestFit(int64_t count) const;
  /** The run with the highest pages; count 0 when the set is empty. */
  Run last() const;
  int64_t pages() const { return pages_; }
  const std::map<int64_t, int64_t>& all() const { return runs_; }

 private:
  std::map<int64_t, int64_t> runs_;  // first → count
  int64_t pages_ = 0;
};

}  // namespace octavo
