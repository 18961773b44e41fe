#include "memory/ledger.h"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "memory/ledger_table.h"
#include "memory/trace/memory_trace.h"

namespace octavo {

namespace {

using Line = LedgerTable::Line;
using Key = LedgerTable::Key;

Line& lineOf(void* line) { return *static_cast<Line*>(line); }

std::string describe(const Key& key) {
  return std::string(regionName(key.region)) + " / " + ownerKindName(key.owner.kind) + " " +
         std::to_string(key.owner.id) + " / " + std::string(key.tag);
}

[[noreturn]] void refuse(const Line* line, const Key& key, size_t bytes, uint64_t count) {
  const size_t held = line ? line->bytes : 0;
  const uint64_t pieces = line ? line->count : 0;
  throw Error(ErrorCode::kInternal, "ledger line " + describe(key) + " holds " + std::to_string(held) +
                                        " bytes in " + std::to_string(pieces) + " pieces; cannot take " +
                                        std::to_string(bytes) + " bytes in " + std::to_string(count) + " off it");
}

/** Throws unless the line holds that much. */
void require(const Line& line, size_t bytes, uint64_t count) {
  if (!line.holds(bytes, count)) octavo::refuse(&line, line.key, bytes, count);
}

void move(Line& from, Line& to, size_t bytes, uint64_t fromCount, uint64_t toCount) {
  if (&from == &to) return;
  to.put(bytes, toCount);
  from.take(bytes, fromCount);
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

void Ledger::refuse(const void* line, size_t bytes, uint64_t count) {
  const Line& held = *static_cast<const Line*>(line);
  octavo::refuse(&held, held.key, bytes, count);
}

Ledger::Ledger() : table_(std::make_unique<LedgerTable>(*this)) {}

Ledger::~Ledger() = default;

LineHandle Ledger::line(Region region, const Owner& owner, std::string_view tag) {
  const std::lock_guard lock(lock_);
  Line& line = table_->at(region, owner, tag);
  ++line.handles;
  return LineHandle(&line);
}

void Ledger::add(Region region, Owner owner, const std::string& tag, size_t bytes, uint64_t count) {
  if (bytes == 0 && count == 0) return;
  const std::lock_guard lock(lock_);
  table_->at(region, owner, tag).put(bytes, count);
  enter(region, bytes);
}

void Ledger::add(const LineHandle& handle, size_t bytes, uint64_t count) {
  const std::lock_guard lock(lock_);
  Line& line = lineOf(handle.line_);
  line.put(bytes, count);
  enter(line.key.region, bytes);
}

void Ledger::enter(Region region, size_t bytes) {
  size_t& held = region_[static_cast<size_t>(region)];
  size_t& peak = regionPeak_[static_cast<size_t>(region)];
  held += bytes;
  peak = std::max(peak, held);
}

void Ledger::remove(Region region, Owner owner, const std::string& tag, size_t bytes, uint64_t count) {
  if (bytes == 0 && count == 0) return;
  const std::lock_guard lock(lock_);
  Line* const line = table_->find(region, owner, tag);
  if (!line || !line->holds(bytes, count)) octavo::refuse(line, {region, owner, tag}, bytes, count);
  line->take(bytes, count);
  region_[static_cast<size_t>(region)] -= bytes;
  table_->settle(*line);
}

void Ledger::remove(const LineHandle& handle, size_t bytes, uint64_t count) {
  const std::lock_guard lock(lock_);
  Line& line = lineOf(handle.line_);
  require(line, bytes, count);
  line.take(bytes, count);
  region_[static_cast<size_t>(line.key.region)] -= bytes;
}

void Ledger::transfer(Region region, Owner from, const std::string& fromTag, Owner to, const std::string& toTag,
                      size_t bytes, uint64_t count) {
  transfer(region, from, fromTag, to, toTag, bytes, count, count);
}

void Ledger::transfer(Region region, Owner from, const std::string& fromTag, Owner to, const std::string& toTag,
                      size_t bytes, uint64_t fromCount, uint64_t toCount) {
  if (bytes == 0 && fromCount == 0 && toCount == 0) return;
  const std::lock_guard lock(lock_);
  Line* const source = table_->find(region, from, fromTag);
  if (!source || !source->holds(bytes, fromCount)) octavo::refuse(source, {region, from, fromTag}, bytes, fromCount);
  Line& target = table_->at(region, to, toTag);
  if (&target == source) return;
  move(*source, target, bytes, fromCount, toCount);
  table_->settle(*source);
  if (trace_) trace_->transferred(region, from, fromTag, to, toTag, bytes);
}

void Ledger::transfer(const LineHandle& from, const LineHandle& to, size_t bytes, uint64_t fromCount,
                      uint64_t toCount) {
  const std::lock_guard lock(lock_);
  Line& source = lineOf(from.line_);
  require(source, bytes, fromCount);
  move(source, lineOf(to.line_), bytes, fromCount, toCount);
}

LineHandle Ledger::transfer(const LineHandle& from, const Owner& to, std::string_view toTag, size_t bytes,
                            uint64_t fromCount, uint64_t toCount) {
  const std::lock_guard lock(lock_);
  Line& source = lineOf(from.line_);
  require(source, bytes, fromCount);
  Line& target = table_->at(source.key.region, to, toTag);
  move(source, target, bytes, fromCount, toCount);
  ++target.handles;
  return LineHandle(&target);
}

void Ledger::transfer(LineHandle&& from, const LineHandle& to, size_t bytes, uint64_t fromCount, uint64_t toCount) {
  const std::lock_guard lock(lock_);
  Line& source = lineOf(from.line_);
  require(source, bytes, fromCount);
  move(source, lineOf(to.line_), bytes, fromCount, toCount);
  --source.handles;
  from.line_ = nullptr;
  table_->settle(source);
}

std::vector<LedgerLine> Ledger::lines() const {
  std::vector<LedgerLine> lines;
  {
    const std::lock_guard lock(lock_);
    table_->eachLive([&](const Line& line) {
      const Key& key = line.key;
      lines.push_back({key.region, key.owner, std::string(key.tag), line.bytes, line.peakBytes, line.count});
    });
  }
  std::sort(lines.begin(), lines.end(), [](const LedgerLine& left, const LedgerLine& right) {
    return std::tie(left.region, left.owner, left.tag) < std::tie(right.region, right.owner, right.tag);
  });
  return lines;
}

size_t Ledger::regionBytes(Region region) const {
  const std::lock_guard lock(lock_);
  return region_[static_cast<size_t>(region)];
}

size_t Ledger::regionPeakBytes(Region region) const {
  const std::lock_guard lock(lock_);
  return regionPeak_[static_cast<size_t>(region)];
}

size_t Ledger::ownerBytes(Owner owner) const {
  const std::lock_guard lock(lock_);
  size_t bytes = 0;
  table_->eachLive([&](const Line& line) {
    if (line.key.owner == owner) bytes += line.bytes;
  });
  return bytes;
}

void Ledger::check() const {
  const std::lock_guard lock(lock_);
  table_->check();
  size_t sums[kRegionCount] = {};
  table_->eachLive([&](const Line& line) {
    sums[static_cast<size_t>(line.key.region)] += line.bytes;
    if (line.peakBytes >= line.bytes) return;
    throw Error(ErrorCode::kInternal, "ledger line " + describe(line.key) + " holds " + std::to_string(line.bytes) +
                                          " bytes in " + std::to_string(line.count) + " pieces with a peak of " +
                                          std::to_string(line.peakBytes));
  });
  for (int index = 0; index < kRegionCount; ++index) {
    if (sums[index] == region_[index] && regionPeak_[index] >= region_[index]) continue;
    throw Error(ErrorCode::kInternal, std::string("ledger region ") + regionName(static_cast<Region>(index)) +
                                          " counts " + std::to_string(region_[index]) + " bytes (peak " +
                                          std::to_string(regionPeak_[index]) + "), its lines add up to " +
                                          std::to_string(sums[index]));
  }
}

}  // namespace octavo
