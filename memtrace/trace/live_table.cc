#include "trace/live_table.h"

#include <new>

namespace octavo::memtrace {

LiveTable::Added LiveTable::add(const Allocation& allocation, Allocation* replaced) {
  const uint64_t key = keyOf(traitsOf(allocation.kind).space, allocation.address);
  auto& shard = shardOf(key);
  const Hold hold(shard.lock);
  const Allocation* before = shard.map.find(key);
  const bool known = before != nullptr;
  if (known) *replaced = *before;
  if (shard.map.put(key, allocation) == nullptr) return Added::kNoMemory;
  return known ? Added::kReplaced : Added::kNew;
}

bool LiveTable::take(Space space, uint64_t address, Allocation* allocation) {
  const uint64_t key = keyOf(space, address);
  auto& shard = shardOf(key);
  const Hold hold(shard.lock);
  return shard.map.take(key, allocation);
}

void LiveTable::abandon() {
  for (auto& shard : shards_) new (&shard) Shard();
}

}  // namespace octavo::memtrace
