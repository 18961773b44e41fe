#include "memory/trace/live_table.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace octavo {

void LiveTable::add(const LiveAllocation& allocation) {
  remove(allocation.address);  // its free was not seen
  allocations_.emplace(allocation.address, allocation);
  if (allocation.fromTag != 0) take({allocation.from, allocation.region, allocation.fromTag}, allocation.bytes);
  give({allocation.owner, allocation.region, allocation.tag, allocation.bytes, allocation.stack,
        allocation.sequence, allocation.timeNanoseconds});
}

LiveAllocation* LiveTable::find(uint64_t address) {
  const auto found = allocations_.find(address);
  return found == allocations_.end() ? nullptr : &found->second;
}

void LiveTable::remove(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return;
  const LiveAllocation gone = found->second;
  allocations_.erase(found);
  const uint64_t taken = take({gone.owner, gone.region, gone.tag}, gone.bytes);
  if (gone.fromTag != 0) give({gone.from, gone.region, gone.fromTag, taken, 0, gone.sequence, gone.timeNanoseconds});
}

const LiveSegment* LiveTable::segmentAt(uint64_t address) const {
  const auto after = segments_.upper_bound(address);
  if (after == segments_.begin()) return nullptr;
  const LiveSegment& before = std::prev(after)->second;
  return address < before.address + before.bytes ? &before : nullptr;
}

void LiveTable::map(const LiveSegment& segment) {
  unmap(segment.address, segment.bytes);  // mapped before, the unmapping not seen
  segments_.emplace(segment.address, segment);
  give({segment.owner, segment.region, segment.tag, segment.bytes, segment.stack, segment.sequence,
        segment.timeNanoseconds});
}

void LiveTable::unmap(uint64_t address, uint64_t bytes) {
  const uint64_t end = address + bytes;
  auto at = segments_.upper_bound(address);
  if (at != segments_.begin()) --at;
  while (at != segments_.end() && at->first < end) {
    const LiveSegment cut = at->second;
    const uint64_t cutEnd = cut.address + cut.bytes;
    if (cutEnd <= address) {
      ++at;
      continue;
    }
    at = segments_.erase(at);
    take({cut.owner, cut.region, cut.tag}, std::min(cutEnd, end) - std::max(cut.address, address));
    if (cut.address < address) {
      LiveSegment before = cut;
      before.bytes = address - cut.address;
      segments_.emplace(before.address, before);
    }
    if (cutEnd > end) {
      LiveSegment after = cut;
      after.address = end;
      after.bytes = cutEnd - end;
      at = segments_.emplace(after.address, after).first;
    }
  }
}

void LiveTable::transfer(const TraceEvent& event) {
  take({event.from, event.region, event.fromTag}, event.bytes);
  give({event.owner, event.region, event.tag, event.bytes, event.stack, event.sequence, event.timeNanoseconds});
}

void LiveTable::end(Owner owner, int64_t timeNanoseconds) {
  std::erase_if(ended_, [this](const auto& entry) { return !holdsAnything(entry.first); });
  if (holdsAnything(owner)) ended_.emplace(owner, timeNanoseconds);
}

void LiveTable::clear() {
  allocations_.clear();
  segments_.clear();
  holdings_.clear();
  ended_.clear();
}

void LiveTable::give(const Holding& more) {
  if (more.bytes == 0) return;
  Holding& holding = holdings_[{more.owner, more.region, more.tag}];
  const uint64_t bytes = holding.bytes + more.bytes;
  const StackId stack = more.stack == 0 ? holding.stack : more.stack;  // what comes back has none
  holding = more;
  holding.bytes = bytes;
  holding.stack = stack;
}

uint64_t LiveTable::take(const Key& key, uint64_t bytes) {
  const auto found = holdings_.find(key);
  if (found == holdings_.end()) return 0;
  const uint64_t taken = std::min(bytes, found->second.bytes);
  found->second.bytes -= taken;
  if (found->second.bytes == 0) holdings_.erase(found);
  return taken;
}

bool LiveTable::holdsAnything(Owner owner) const {
  const auto first = holdings_.lower_bound({owner, Region::kWeights, 0});
  return first != holdings_.end() && std::get<Owner>(first->first) == owner;
}

std::vector<LiveAllocation> LiveTable::allocations() const {
  std::vector<LiveAllocation> all;
  all.reserve(allocations_.size());
  for (const auto& [address, allocation] : allocations_) all.push_back(allocation);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return all;
}

std::vector<LiveSegment> LiveTable::segments() const {
  std::vector<LiveSegment> all;
  for (const auto& [address, segment] : segments_) all.push_back(segment);
  return all;
}

std::vector<Holding> LiveTable::holdings() const {
  std::vector<Holding> all;
  for (const auto& [key, holding] : holdings_) all.push_back(holding);
  return all;
}

std::vector<EndedOwner> LiveTable::ended() const {
  std::vector<EndedOwner> all;
  for (const auto& [owner, time] : ended_) {
    if (holdsAnything(owner)) all.push_back({owner, time});
  }
  return all;
}

void LiveTable::check() const {
  uint64_t allocated[kRegionCount] = {}, held[kRegionCount] = {};
  for (const auto& [address, allocation] : allocations_) {
    if (allocation.address != address || allocation.bytes == 0) {
      throw Error(ErrorCode::kInternal, "trace: the live allocation at " + std::to_string(address) + " says it has " +
                                            std::to_string(allocation.bytes) + " bytes at " +
                                            std::to_string(allocation.address));
    }
    allocated[static_cast<size_t>(allocation.region)] += allocation.bytes;
  }
  for (const auto& [key, holding] : holdings_) held[static_cast<size_t>(holding.region)] += holding.bytes;
  for (int region = 0; region < kRegionCount; ++region) {
    // Transfers out of memory that was allocated before the trace began add holdings without an allocation.
    if (held[region] > 0 || allocated[region] == 0) continue;
    throw Error(ErrorCode::kInternal, std::string("trace: region ") + regionName(static_cast<Region>(region)) +
                                          " has " + std::to_string(allocated[region]) +
                                          " bytes in live allocations and no owner of them");
  }
  uint64_t end = 0;
  for (const auto& [address, segment] : segments_) {
    if (address < end) throw Error(ErrorCode::kInternal, "trace: two mapped segments overlap");
    end = address + segment.bytes;
  }
}

}  // namespace octavo
