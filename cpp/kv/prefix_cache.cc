#include "kv/prefix_cache.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "kv/pool_tags.h"

namespace octavo {

namespace {

Owner ownerFor(uint64_t session) { return {OwnerKind::kSession, session}; }

}  // namespace

PrefixCache::PrefixCache(BlockPool& pool, const Clock& clock, const PrefixOptions& options)
    : pool_(pool),
      clock_(clock),
      options_(options),
      known_(static_cast<size_t>(pool.total())),
      ordinary_(ByUse{options.eviction}) {}

PrefixCache::Entry& PrefixCache::entryFor(BlockId block) {
  Entry& entry = entries_[block];
  known_[static_cast<size_t>(block)] = true;
  return entry;
}

void PrefixCache::erase(BlockId block) {
  entries_.erase(block);
  known_[static_cast<size_t>(block)] = false;
}

size_t PrefixCache::match(std::span<const PrefixHash> chain) const {
  size_t found = 0;
  while (found < chain.size() && byHash_.contains(chain[found])) ++found;
  return found;
}

std::vector<BlockId> PrefixCache::blocksOf(std::span<const PrefixHash> chain) const {
  std::vector<BlockId> blocks;
  for (const PrefixHash& hash : chain.first(match(chain))) blocks.push_back(byHash_.at(hash)->block);
  return blocks;
}

std::vector<BlockId> PrefixCache::hold(std::span<const PrefixHash> chain, uint64_t session, PrefixUse use) {
  std::vector<BlockId> blocks, taken;
  for (const PrefixHash& hash : chain) {
    Entry& entry = *byHash_.at(hash);
    addHolder(entry, session, taken);
    countUse(entry, use);
    blocks.push_back(entry.block);
  }
  pool_.transfer(kEngine, ownerFor(session), taken);
  return blocks;
}

/** `taken`: blocks that pass from the engine to the session. */
void PrefixCache::addHolder(Entry& entry, uint64_t session, std::vector<BlockId>& taken) {
  if (entry.holders.empty()) {
    unkeep(entry);
    taken.push_back(entry.block);
  }
  entry.holders.push_back(session);
}

void PrefixCache::touch(std::span<const BlockId> blocks, PrefixUse use) {
  for (const BlockId block : blocks) {
    if (Entry* entry = find(block)) countUse(*entry, use);
  }
}

void PrefixCache::countUse(Entry& entry, PrefixUse use) {
  entry.time = std::max(entry.time, use.time);
  if (use.number <= entry.last) return;
  if (use.number - entry.last > options_.correlatedUses) entry.before = entry.last;
  entry.last = use.number;
}

BlockId PrefixCache::enter(const PrefixHash& hash, int32_t depth, BlockId block, uint64_t session, PrefixUse use,
                           uint64_t fence) {
  const auto there = byHash_.find(hash);
  if (there != byHash_.end()) {
    Entry& entry = *there->second;
    std::vector<BlockId> taken;
    const bool own = entry.block == block;  // who shares it entered it
    if (!own) addHolder(entry, session, taken);
    countUse(entry, use);
    if (own) return block;
    pool_.transfer(kEngine, ownerFor(session), taken);
    leave(session, {&block, 1}, fence, Leaving::kDrop);
    ++report_.merged;
    return entry.block;
  }
  Entry& entry = entryFor(block);
  entry.block = block;
  entry.found = true;
  entry.hash = hash;
  entry.depth = depth;
  if (entry.holders.empty()) entry.holders.push_back(session);
  entry.last = history_.recall(hash).value_or(-1);
  entry.before = -1;
  countUse(entry, use);
  byHash_.emplace(hash, &entry);
  return block;
}

void PrefixCache::share(std::span<const BlockId> blocks, uint64_t from, uint64_t to) {
  for (const BlockId block : blocks) {
    Entry& entry = entryFor(block);
    if (entry.block < 0) {
      entry.block = block;
      entry.holders.push_back(from);
    }
    entry.holders.push_back(to);
  }
}

/** True when the session owned the block and another does now. */
bool PrefixCache::removeHolder(Entry& entry, uint64_t session) {
  const auto holder = std::find(entry.holders.begin(), entry.holders.end(), session);
  if (holder == entry.holders.end()) requireHeld(entry.block, session, nullptr);
  const bool owned = holder == entry.holders.begin();
  entry.holders.erase(holder);
  return owned && !entry.holders.empty();
}

void PrefixCache::leave(uint64_t session, std::span<const BlockId> blocks, uint64_t fence, Leaving leaving) {
  std::vector<BlockId> given, kept;
  uint64_t last = fence;
  std::map<uint64_t, std::vector<BlockId>> passed;  // by the new owner
  for (const BlockId block : blocks) {
    Entry* const entry = find(block);
    if (!entry) {
      given.push_back(block);
      continue;
    }
    if (removeHolder(*entry, session)) passed[entry->holders.front()].push_back(block);
    entry->fence = std::max(entry->fence, fence);
    if (entry->holders.size() > 1 || (entry->found && !entry->holders.empty())) continue;
    if (!entry->holders.empty()) {  // one is left, and it cannot be found: an ordinary block
      erase(block);
    } else if (entry->found && leaving == Leaving::kKeep && options_.enabled) {
      kept.push_back(block);
      keep(*entry);
    } else {
      given.push_back(block);
      last = std::max(last, entry->fence);
      forget(*entry);
    }
  }
  for (const auto& [owner, theirs] : passed) pool_.transfer(ownerFor(session), ownerFor(owner), theirs);
  pool_.transfer(ownerFor(session), kEngine, kept);
  pool_.release(ownerFor(session), given, last);
}

bool PrefixCache::claim(BlockId block) {
  if (isShared(block)) return false;
  if (Entry* const entry = find(block)) forget(*entry);
  return true;
}

/** The entry goes; when it was last used is remembered if it could be found. */
void PrefixCache::forget(Entry& entry) {
  if (entry.found) {
    byHash_.erase(entry.hash);
    history_.remember(entry.hash, entry.last, historySize());
  }
  erase(entry.block);
}

bool PrefixCache::isShared(BlockId block) const {
  const Entry* const entry = find(block);
  return entry && entry->holders.size() > 1;
}

uint64_t PrefixCache::ownerOf(BlockId block, uint64_t session) const {
  const Entry* const entry = find(block);
  return entry && !entry->holders.empty() ? entry->holders.front() : session;
}

std::vector<uint64_t> PrefixCache::relocate(BlockId from, BlockId to) {
  auto node = entries_.extract(from);
  if (node.empty()) return {};
  Entry& entry = node.mapped();
  const bool kept = entry.holders.empty();
  if (kept) unkeep(entry);  // the orders break ties by the block
  node.key() = entry.block = to;
  entries_.insert(std::move(node));
  known_[static_cast<size_t>(from)] = false;
  known_[static_cast<size_t>(to)] = true;
  if (kept) keep(entry);
  return entry.holders;
}

std::vector<uint64_t> PrefixCache::holdersOf(BlockId block) const {
  const Entry* const entry = find(block);
  return entry ? entry->holders : std::vector<uint64_t>();
}

void PrefixCache::strike(BlockId block) {
  const auto found = entries_.find(block);
  if (found == entries_.end()) return;
  Entry* const entry = &found->second;
  std::erase_if(ordinary_, [entry](const Entry* kept) { return kept == entry; });
  std::erase_if(retained_, [entry](const Entry* kept) { return kept == entry; });
  std::erase_if(byHash_, [entry](const auto& listed) { return listed.second == entry; });
  erase(block);
}

void PrefixCache::countQuery(size_t promptTokens, size_t sessionTokens, size_t hitTokens) {
  ++report_.queries;
  report_.queryTokens += promptTokens;
  report_.sessionTokens += sessionTokens;
  report_.hitTokens += hitTokens;
}

PrefixReport PrefixCache::report() const {
  PrefixReport report = report_;
  report.enabled = options_.enabled;
  report.blocks = static_cast<int64_t>(byHash_.size());
  report.cached = cached();
  report.history = static_cast<int64_t>(history_.size());
  for (const auto& [block, entry] : entries_) report.shared += entry.holders.size() > 1 ? 1 : 0;
  return report;
}

}  // namespace octavo
