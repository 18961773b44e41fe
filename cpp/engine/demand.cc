#include "engine/demand.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace octavo {

namespace {

int64_t needOf(const BlockDemand& demand) { return demand.most - static_cast<int64_t>(demand.table.size()); }

}  // namespace

/** Blocks of a table that no table before it in this round had. */
int64_t DemandPlanner::countNew(std::span<const BlockId> table) {
  int64_t count = 0;
  for (const BlockId block : table) {
    uint64_t& seen = seen_[static_cast<size_t>(block)];
    count += seen == round_ ? 0 : 1;
    seen = round_;
  }
  return count;
}

int64_t DemandPlanner::peak(std::vector<BlockDemand> demands) {
  std::stable_sort(demands.begin(), demands.end(),
                   [](const BlockDemand& a, const BlockDemand& b) { return a.left > b.left; });
  ++round_;
  int64_t peak = 0, held = 0;
  for (size_t k = 0; k < demands.size(); ++k) {
    held += countNew(demands[k].table);
    int64_t blocks = held;
    const int64_t more = demands[k].left + (int64_t{1} << shift_) - 1;
    for (size_t alive = 0; alive <= k; ++alive) {
      const int64_t grown = (demands[alive].tokens + more) >> shift_;
      blocks += std::max<int64_t>(0, grown - static_cast<int64_t>(demands[alive].table.size()));
    }
    peak = std::max(peak, blocks);
  }
  return peak;
}

void DemandPlanner::weigh(const std::vector<BlockDemand>& demands, int64_t capacity) {
  std::vector<size_t> order(demands.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return needOf(demands[a]) < needOf(demands[b]); });
  position_.resize(order.size());
  spare_.resize(order.size());
  ++round_;
  int64_t held = 0;
  for (size_t place = order.size(); place-- > 0;) {
    const BlockDemand& demand = demands[order[place]];
    held += countNew(demand.table);
    spare_[place] = capacity - held - needOf(demand);
    position_[order[place]] = place;
  }
}

int64_t DemandPlanner::allowance(size_t index) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t place = 0; place < position_[index]; ++place) least = std::min(least, spare_[place]);
  return least;
}

void DemandPlanner::take(size_t index, int64_t blocks) {
  for (size_t place = 0; place < position_[index]; ++place) spare_[place] -= blocks;
}

}  // namespace octavo
