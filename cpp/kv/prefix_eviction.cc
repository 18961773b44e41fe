// In which order kept blocks go.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "kv/pool_tags.h"
#include "kv/prefix_cache.h"

namespace octavo {

namespace {

constexpr int64_t kHistoryFactor = 4;  // times the blocks that may be kept; at 1 LRU-2 falls behind LRU on real traces

}  // namespace

bool PrefixCache::ByUse::operator()(const Entry* a, const Entry* b) const {
  if (eviction == PrefixEviction::kLru) {
    return std::tuple(a->last, a->depth, a->block) < std::tuple(b->last, b->depth, b->block);
  }
  return std::tuple(a->before, a->last, -a->depth, a->block) < std::tuple(b->before, b->last, -b->depth, b->block);
}

bool PrefixCache::ByTime::operator()(const Entry* a, const Entry* b) const {
  return std::tuple(a->time, -a->depth, a->block) < std::tuple(b->time, -b->depth, b->block);
}

int64_t PrefixCache::mostCached() const {
  return std::llround(options_.share * static_cast<double>(pool_.capacity()));
}

size_t PrefixCache::historySize() const {
  return static_cast<size_t>(std::llround(options_.share * static_cast<double>(pool_.total()))) * kHistoryFactor;
}

void PrefixCache::keep(Entry& entry) {
  entry.retained = entry.before >= 0 && options_.retention > 0;
  if (entry.retained) {
    retained_.insert(&entry);
  } else {
    ordinary_.insert(&entry);
  }
}

void PrefixCache::unkeep(Entry& entry) {
  if (entry.retained) {
    retained_.erase(&entry);
  } else {
    ordinary_.erase(&entry);
  }
  entry.retained = false;
}

/** Those that were not used for long enough go back into the order of all. */
void PrefixCache::endRetention() {
  const int64_t until = clock_.now() - options_.retention;
  while (!retained_.empty() && (*retained_.begin())->time <= until) {
    Entry* const entry = *retained_.begin();
    retained_.erase(retained_.begin());
    entry->retained = false;
    ordinary_.insert(entry);
  }
}

PrefixCache::Entry* PrefixCache::nextVictim(bool coldOnly) {
  if (!ordinary_.empty()) {
    Entry* const first = *ordinary_.begin();
    const bool cold = options_.eviction == PrefixEviction::kLru || first->before < 0;
    return cold || !coldOnly ? first : nullptr;
  }
  return coldOnly || retained_.empty() ? nullptr : *retained_.begin();
}

int64_t PrefixCache::evict(int64_t wanted, bool coldOnly, uint64_t fence) {
  if (wanted <= 0) return 0;
  endRetention();
  std::vector<BlockId> blocks;
  uint64_t last = 0;
  while (static_cast<int64_t>(blocks.size()) < wanted) {
    Entry* const victim = nextVictim(coldOnly);
    if (!victim) break;
    blocks.push_back(victim->block);
    last = std::max(last, victim->fence);
    unkeep(*victim);
    forget(*victim);
  }
  pool_.release(kEngine, blocks, std::min(fence, last));
  report_.evicted += blocks.size();
  return static_cast<int64_t>(blocks.size());
}

void PrefixCache::clear(uint64_t fence) {
  evict(cached(), false, fence);
  history_ = ReuseHistory();
}

}  // namespace octavo
