#include "memory/ledger.h"

#include <algorithm>

#include "base/error.h"
#include "memory/trace/memory_trace.h"

namespace octavo {

namespace {

std::string describe(Region region, Owner owner, const std::string& tag) {
  return std::string(regionName(region)) + " / " + ownerKindName(owner.kind) + " " + std::to_string(owner.id) +
         " / " + tag;
}

}  // namespace

const char* regionName(Region region) {
  switch (region) {
    case Region::kWeights: return "weights";
    case Region::kKv: return "kv";
    case Region::kGraph: return "graph";
    case Region::kWorkspace: return "workspace";
    case Region::kPinned: return "pinned";
  }
  return "unknown";
}

const char* ownerKindName(OwnerKind kind) {
  switch (kind) {
    case OwnerKind::kEngine: return "engine";
    case OwnerKind::kSession: return "session";
    case OwnerKind::kRequest: return "request";
    case OwnerKind::kAdapter: return "adapter";
    case OwnerKind::kGraph: return "graph";
  }
  return "unknown";
}

void Ledger::add(Region region, Owner owner, const std::string& tag, size_t bytes, uint64_t count) {
  if (bytes == 0 && count == 0) return;
  const std::lock_guard lock(mutex_);
  put(entries_[Key{region, owner, tag}], bytes, count);
  const auto index = static_cast<size_t>(region);
  region_[index] += bytes;
  regionPeak_[index] = std::max(regionPeak_[index], region_[index]);
}

void Ledger::remove(Region region, Owner owner, const std::string& tag, size_t bytes, uint64_t count) {
  if (bytes == 0 && count == 0) return;
  const std::lock_guard lock(mutex_);
  take(find(Key{region, owner, tag}, bytes, count), bytes, count);
  region_[static_cast<size_t>(region)] -= bytes;
}

void Ledger::transfer(Region region, Owner from, const std::string& fromTag, Owner to, const std::string& toTag,
                      size_t bytes, uint64_t count) {
  transfer(region, from, fromTag, to, toTag, bytes, count, count);
}

void Ledger::transfer(Region region, Owner from, const std::string& fromTag, Owner to, const std::string& toTag,
                      size_t bytes, uint64_t fromCount, uint64_t toCount) {
  if (bytes == 0 && fromCount == 0 && toCount == 0) return;
  const std::lock_guard lock(mutex_);
  const auto source = find(Key{region, from, fromTag}, bytes, fromCount);
  Entry& target = entries_[Key{region, to, toTag}];
  if (&target == &source->second) return;
  put(target, bytes, toCount);
  take(source, bytes, fromCount);
  if (trace_) trace_->transferred(region, from, fromTag, to, toTag, bytes);
}

Ledger::Entries::iterator Ledger::find(const Key& key, size_t bytes, uint64_t count) {
  const auto line = entries_.find(key);
  const Entry held = line == entries_.end() ? Entry{} : line->second;
  if (line == entries_.end() || held.bytes < bytes || held.count < count) {
    throw Error(ErrorCode::kInternal, "ledger line " + describe(key.region, key.owner, key.tag) + " holds " +
                                          std::to_string(held.bytes) + " bytes in " +
                                          std::to_string(held.count) + " pieces; cannot take " +
                                          std::to_string(bytes) + " bytes in " + std::to_string(count) +
                                          " off it");
  }
  return line;
}

void Ledger::put(Entry& entry, size_t bytes, uint64_t count) {
  entry.bytes += bytes;
  entry.count += count;
  entry.peak = std::max(entry.peak, entry.bytes);
}

void Ledger::take(Entries::iterator line, size_t bytes, uint64_t count) {
  line->second.bytes -= bytes;
  line->second.count -= count;
  if (line->second.bytes == 0 && line->second.count == 0) entries_.erase(line);
}

std::vector<LedgerLine> Ledger::lines() const {
  const std::lock_guard lock(mutex_);
  std::vector<LedgerLine> lines;
  lines.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    lines.push_back({key.region, key.owner, key.tag, entry.bytes, entry.peak, entry.count});
  }
  return lines;
}

size_t Ledger::regionBytes(Region region) const {
  const std::lock_guard lock(mutex_);
  return region_[static_cast<size_t>(region)];
}

size_t Ledger::regionPeakBytes(Region region) const {
  const std::lock_guard lock(mutex_);
  return regionPeak_[static_cast<size_t>(region)];
}

size_t Ledger::ownerBytes(Owner owner) const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, entry] : entries_) {
    if (key.owner == owner) bytes += entry.bytes;
  }
  return bytes;
}

void Ledger::check() const {
  const std::lock_guard lock(mutex_);
  size_t sums[kRegionCount] = {};
  for (const auto& [key, entry] : entries_) {
    sums[static_cast<size_t>(key.region)] += entry.bytes;
    if (entry.peak < entry.bytes || (entry.bytes == 0 && entry.count == 0)) {
      throw Error(ErrorCode::kInternal, "ledger line " + describe(key.region, key.owner, key.tag) + " holds " +
                                            std::to_string(entry.bytes) + " bytes in " +
                                            std::to_string(entry.count) + " pieces with a peak of " +
                                            std::to_string(entry.peak));
    }
  }
  for (int index = 0; index < kRegionCount; ++index) {
    if (sums[index] == region_[index] && regionPeak_[index] >= region_[index]) continue;
    throw Error(ErrorCode::kInternal, std::string("ledger region ") + regionName(static_cast<Region>(index)) +
                                          " counts " + std::to_string(region_[index]) + " bytes (peak " +
                                          std::to_string(regionPeak_[index]) + "), its lines add up to " +
                                          std::to_string(sums[index]));
  }
}

}  // namespace octavo
