#include "kv/eviction.h"

#include <algorithm>
#include <numeric>

namespace octavo {

namespace {

constexpr size_t kAlike = 24;    // so many next ones are about as old, but never more than half of all
constexpr int64_t kMore = 64;    // blocks beyond what is wanted that may go for the sake of pages

}  // namespace

EvictionPlanner::EvictionPlanner(const BlockPages& pages, EvictionPolicy policy)
    : pages_(pages),
      policy_(policy),
      gone_(static_cast<size_t>(pages.pages())),
      going_(static_cast<size_t>(pages.pages())) {}

EvictionPlan EvictionPlanner::plan(const std::vector<EvictionCandidate>& candidates, int64_t wanted) {
  EvictionPlan plan;
  std::vector<size_t> left(candidates.size());
  std::iota(left.begin(), left.end(), size_t{0});
  while (plan.blocks < wanted && !left.empty()) {
    const size_t alike = policy_ == EvictionPolicy::kLru ? 1 : std::min(kAlike, (left.size() + 1) / 2);
    size_t chosen = 0;
    Share best = shareOf(candidates[left[0]], wanted - plan.blocks);
    for (size_t next = 1; next < alike; ++next) {
      const Share share = shareOf(candidates[left[next]], wanted - plan.blocks);
      if (!share.isBetterThan(best)) continue;
      best = share;
      chosen = next;
    }
    count(candidates[left[chosen]], best.blocks, gone_, 1);
    plan.evictions.push_back({left[chosen], best.blocks});
    plan.blocks += best.blocks;
    plan.pages += best.pages;
    left.erase(left.begin() + static_cast<int64_t>(chosen));
  }
  return plan;
}

/** The best share of what may be taken: the most pages for its blocks, and of equals the fewest blocks. */
EvictionPlanner::Share EvictionPlanner::shareOf(EvictionCandidate candidate, int64_t wanted) {
  const auto size = static_cast<int64_t>(candidate.size());
  const int64_t least = std::min(size, wanted);
  const int64_t most = policy_ == EvictionPolicy::kLru ? least : std::min(size, least + kMore);
  Share share, best;
  while (share.blocks < most) {
    const BlockId block = candidate[static_cast<size_t>(size - ++share.blocks)];
    for (int64_t page = pages_.firstPage(block); page <= pages_.lastPage(block); ++page) {
      const auto at = static_cast<size_t>(page);
      share.pages += ++going_[at] + gone_[at] == pages_.liveOn(page) ? 1 : 0;
    }
    if (share.blocks == least || (share.blocks > least && share.isBetterThan(best))) best = share;
  }
  count(candidate, most, going_, -1);
  return best;
}

/** Changes what is counted on the pages of the last blocks. */
void EvictionPlanner::count(EvictionCandidate candidate, int64_t blocks, std::vector<uint32_t>& counts, int change) {
  for (const BlockId block : candidate.last(static_cast<size_t>(blocks))) {
    for (int64_t page = pages_.firstPage(block); page <= pages_.lastPage(block); ++page) {
      counts[static_cast<size_t>(page)] += static_cast<uint32_t>(change);
    }
  }
}

}  // namespace octavo
