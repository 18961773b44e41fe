// The integrity check of the prefix cache: every block, its holders, its place in the order, its owner in the pool.
#include <algorithm>

#include "base/error.h"
#include "kv/pool_tags.h"
#include "kv/prefix_cache.h"

namespace octavo {

namespace {

[[noreturn]] void fail(BlockId block, const std::string& problem) {
  throw Error(ErrorCode::kInternal, "prefix cache: KV block " + std::to_string(block) + " " + problem);
}

}  // namespace

void PrefixCache::requireHeld(BlockId block, uint64_t session, const PrefixHash* hash) const {
  const Entry* const entry = find(block);
  const std::string name = "session " + std::to_string(session);
  if (!entry) {
    if (!hash) return;
    fail(block, "cannot be found, and " + name + " holds it under a hash");
  }
  const auto holders = std::count(entry->holders.begin(), entry->holders.end(), session);
  if (holders != 1) fail(block, "is listed by " + name + ", which holds it " + std::to_string(holders) + " times");
  if (hash && (!entry->found || entry->hash != *hash)) fail(block, "has another hash than " + name + " holds it under");
}

int64_t PrefixCache::holders() const {
  size_t holders = 0;
  for (const auto& [block, entry] : entries_) holders += entry.holders.size();
  return static_cast<int64_t>(holders);
}

void PrefixCache::checkEntry(const Entry& entry) const {
  if (entry.found) {
    const auto found = byHash_.find(entry.hash);
    if (found == byHash_.end() || found->second != &entry) fail(entry.block, "is not found by its hash");
  } else if (entry.holders.size() < 2) {
    fail(entry.block, "is neither shared nor to be found");
  }
  auto* const listed = const_cast<Entry*>(&entry);
  const bool kept = ordinary_.contains(listed) || retained_.contains(listed);
  if (kept != entry.holders.empty()) {
    fail(entry.block, std::string(kept ? "may be evicted" : "is in no order") + " with " +
                          std::to_string(entry.holders.size()) + " holders");
  }
  const Owner owner = entry.holders.empty() ? kEngine : Owner{OwnerKind::kSession, entry.holders.front()};
  if (!pool_.isOwnedBy(entry.block, owner)) fail(entry.block, "has another owner in the pool than its first holder");
}

void PrefixCache::check() const {
  const auto known = static_cast<size_t>(std::count(known_.begin(), known_.end(), true));
  if (known != entries_.size()) {
    throw Error(ErrorCode::kInternal, "prefix cache: " + std::to_string(known) + " blocks are known, of which " +
                                          std::to_string(entries_.size()) + " have an entry");
  }
  size_t found = 0;
  for (const auto& [block, entry] : entries_) {
    if (entry.block != block) fail(block, "is listed as " + std::to_string(entry.block));
    if (!isKnown(block)) fail(block, "has an entry and is not known");
    checkEntry(entry);
    found += entry.found ? 1 : 0;
  }
  const int64_t owned = pool_.ownedBy(kEngine);
  if (found != byHash_.size() || cached() != owned) {
    throw Error(ErrorCode::kInternal, "prefix cache: " + std::to_string(byHash_.size()) + " hashes of " +
                                          std::to_string(found) + " blocks; " + std::to_string(cached()) +
                                          " blocks are kept, the pool has " + std::to_string(owned) +
                                          " of the engine");
  }
  history_.check();
}

}  // namespace octavo
