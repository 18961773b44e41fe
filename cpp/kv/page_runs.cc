#include "kv/page_runs.h"

#include <iterator>

namespace octavo {

void PageRuns::add(int64_t first, int64_t count) {
  pages_ += count;
  auto after = runs_.lower_bound(first);
  if (after != runs_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      first = before->first;
      count += before->second;
      runs_.erase(before);
    }
  }
  if (after != runs_.end() && after->first == first + count) {
    count += after->second;
    after = runs_.erase(after);
  }
  runs_.emplace_hint(after, first, count);
}

void PageRuns::remove(int64_t first, int64_t count) {
  const auto held = std::prev(runs_.upper_bound(first));
  const auto [start, length] = *held;
  pages_ -= count;
  runs_.erase(held);
  if (start < first) runs_.emplace(start, first - start);
  const int64_t end = first + count;
  if (end < start + length) runs_.emplace(end, start + length - end);
}

PageRuns::Run PageRuns::find(int64_t page) const {
  const auto after = runs_.upper_bound(page);
  if (after == runs_.begin()) return {};
  const auto [first, count] = *std::prev(after);
  return page < first + count ? Run{first, count} : Run{};
}

PageRuns::Run PageRuns::bestFit(int64_t count) const {
  Run best;
  for (const auto& [first, length] : runs_) {
    const bool fits = length >= count;
    const bool bestFits = best.count >= count;
    const bool better = fits ? !bestFits || length < best.count : !bestFits && length > best.count;
    if (better) best = {first, length};
  }
  return best;
}

PageRuns::Run PageRuns::last() const {
  if (runs_.empty()) return {};
  return {runs_.rbegin()->first, runs_.rbegin()->second};
}

}  // namespace octavo
