#include "trace/stack_table.h"

#include <cstring>
#include <new>

namespace octavo::memtrace {

namespace {

/** FNV-1a over whole words, then a final mix. */
uint64_t hashOf(const Frames& frames) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int index = 0; index < frames.count; index++) hash = (hash ^ frames.frame[index]) * 0x100000001b3u;
  hash ^= hash >> 29;
  return hash == 0 ? 1 : hash;
}

}  // namespace

bool StackTable::isSame(const Shard& shard, uint32_t entry, const Frames& frames) {
  const auto& known = shard.entries[entry];
  return known.count == static_cast<uint32_t>(frames.count) &&
         std::memcmp(&shard.frames[known.first], frames.frame, known.count * sizeof(uint64_t)) == 0;
}

bool StackTable::append(Shard& shard, const Frames& frames, uint32_t* entry) {
  *entry = static_cast<uint32_t>(shard.entries.size());
  const auto first = static_cast<uint32_t>(shard.frames.size());
  return shard.frames.addAll(frames.frame, static_cast<size_t>(frames.count)) &&
         shard.entries.add({0, first, static_cast<uint32_t>(frames.count)});
}

uint32_t StackTable::intern(const Frames& frames) {
  uint64_t hash = hashOf(frames);
  const uint32_t number = static_cast<uint32_t>(hash >> 60);
  auto& shard = shards_[number];
  const Hold hold(shard.lock);
  const uint32_t* known = shard.numbers.find(hash);
  while (known != nullptr && !isSame(shard, *known, frames)) known = shard.numbers.find(++hash);
  uint32_t entry;
  if (known != nullptr) {
    entry = *known;
  } else if (!append(shard, frames, &entry) || shard.numbers.put(hash, entry) == nullptr) {
    return 0;
  }
  shard.entries[entry].allocations++;
  return entry * kShards + number + 1;
}

bool StackTable::read(uint32_t stack, int patience, Frames* frames, uint64_t* allocations) {
  frames->count = 0;
  *allocations = 0;
  if (stack == 0) return false;
  auto& shard = shards_[(stack - 1) % kShards];
  const Hold hold(shard.lock, patience);
  const uint32_t entry = (stack - 1) / kShards;
  if (!hold.held() || entry >= shard.entries.size()) return false;
  const auto& known = shard.entries[entry];
  for (uint32_t index = 0; index < known.count; index++) frames->add(shard.frames[known.first + index]);
  *allocations = known.allocations;
  return true;
}

size_t StackTable::size() const {
  size_t size = 0;
  for (const auto& shard : shards_) size += shard.entries.size();
  return size;
}

void StackTable::abandon() {
  for (auto& shard : shards_) new (&shard) Shard();
}

}  // namespace octavo::memtrace
