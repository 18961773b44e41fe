// Levels and snapshots; the recording is in record.cc.
#include "memory/trace/memory_trace.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "memory/trace/event_json.h"

namespace octavo {

namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

void validateLevel(int level) {
  if (level < 0 || level > kMostTraceLevel) {
    refuse("the trace level is " + std::to_string(level) + "; give 0 (off) to " + std::to_string(kMostTraceLevel));
  }
}

}  // namespace

void validateTrace(const TraceOptions& options) {
  validateLevel(options.level);
  if (options.ringEvents < 1 || options.ringEvents > kMostRingEvents) {
    refuse("ringEvents is " + std::to_string(options.ringEvents) + "; give 1 to " + std::to_string(kMostRingEvents));
  }
  if (options.sampleBytes < 1) refuse("sampleBytes is 0; give at least 1");
  if (!options.spillPath.empty() && options.spillBytes < 1) refuse("spillBytes is 0; give at least 1");
}

void MemoryTrace::configure(const TraceOptions& options) {
  validateTrace(options);
  const std::lock_guard lock(mutex_);
  level_ = 0;
  spill_.reset();
  spilledStacks_ = 0;
  ring_.reset();
  stacks_.reset();
  tags_ = {};
  live_.clear();
  recorded_ = dropped_ = sinceSample_ = 0;
  options_ = options;
  enter(options.level);
}

void MemoryTrace::setLevel(int level) {
  validateLevel(level);
  const std::lock_guard lock(mutex_);
  enter(level);
}

void MemoryTrace::enter(int level) {
  const int before = level_;
  if (level == before) return;
  try {
    if (level > 0 && !ring_) {
      auto ring = std::make_unique<EventRing>(options_.ringEvents);
      stacks_ = std::make_unique<StackTable>(kTraceStacks);
      ring_ = std::move(ring);
    }
  } catch (const std::exception&) {
    throw Error(ErrorCode::kOutOfMemory, "the host has no memory for a trace of " +
                                             std::to_string(options_.ringEvents) + " events (" +
                                             std::to_string(options_.ringEvents * sizeof(TraceEvent)) +
                                             " bytes); ask for fewer (memory.trace.ringEvents)");
  }
  if (level == 3 && !options_.spillPath.empty() && !spill_.isUsed()) {
    spill_.open(options_.spillPath, options_.spillBytes);
    spill_.write(headerLine());
  }
  TraceEvent changed;
  changed.operation = TraceOperation::kLevelChanged;
  changed.bytes = static_cast<uint64_t>(level);
  number(changed);
  level_ = std::max(before, level);  // into the spill file if it is one of level 3
  push(changed);
  level_ = level;
  if (level == 0) live_.clear();
  if (level < 3) spill_.flush();
}

TraceSnapshot MemoryTrace::snapshot() {
  const std::lock_guard lock(mutex_);
  if (level_ == 3) {
    TraceEvent taken;
    taken.operation = TraceOperation::kSnapshot;
    number(taken);
    push(taken);
  }
  spill_.flush();
  TraceSnapshot snapshot;
  snapshot.options = options_;
  snapshot.options.level = level_;
  snapshot.nowNanoseconds = SteadyClock().now();
  snapshot.recorded = recorded_;
  snapshot.dropped = dropped_;
  snapshot.tags = tags_.names();
  snapshot.spill = spill_.report();
  if (!ring_) {
    snapshot.stacks.emplace_back();
    return snapshot;
  }
  snapshot.overwritten = ring_->overwritten();
  snapshot.events = ring_->all();
  snapshot.stacksDropped = stacks_->dropped();
  snapshot.stacks = stacks_->all();
  snapshot.allocations = live_.allocations();
  snapshot.segments = live_.segments();
  snapshot.holdings = live_.holdings();
  snapshot.ended = live_.ended();
  return snapshot;
}

SpillReport MemoryTrace::flushSpill() {
  const std::lock_guard lock(mutex_);
  spill_.flush();
  return spill_.report();
}

void MemoryTrace::check() const {
  const std::lock_guard lock(mutex_);
  live_.check();
  if (!ring_ || ring_->size() + ring_->overwritten() == recorded_) return;
  throw Error(ErrorCode::kInternal, "trace: " + std::to_string(recorded_) + " events were recorded, the ring holds " +
                                        std::to_string(ring_->size()) + " and has overwritten " +
                                        std::to_string(ring_->overwritten()));
}

}  // namespace octavo
