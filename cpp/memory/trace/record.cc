// The recording half of MemoryTrace. Each function: the stack, the lock, the live table, the ring.
#include "base/clock.h"
#include "memory/trace/event_json.h"
#include "memory/trace/memory_trace.h"

namespace octavo {

namespace {

// The record functions are calls of their own (noinline), so that one frame is theirs.
constexpr int kOwnFrames = 1;

uint64_t addressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

[[gnu::noinline]] void MemoryTrace::recordAllocated(Region region, const void* address, size_t bytes, Owner owner,
                                                    std::string_view tag) noexcept {
  const StackFrames frames = captureStack(kOwnFrames);
  const std::lock_guard lock(mutex_);
  try {
    if (level() == 0 || (level() == 1 && !isSampled(bytes))) return;
    TraceEvent event;
    event.operation = TraceOperation::kAllocated;
    event.region = region;
    event.address = addressOf(address);
    event.bytes = bytes;
    event.owner = owner;
    event.tag = tags_.intern(tag);
    event.stack = stacks_->intern(frames);
    takeFromSegment(event);
    number(event);
    push(event);
    const uint64_t standsFor = level() == 1 ? sampledBytes_ : bytes;
    live_.add({event.address, bytes, standsFor, owner, event.tag, event.stack, event.sequence, event.timeNanoseconds,
               event.thread, region, false, event.from, event.fromTag});
  } catch (const std::exception&) {
    ++dropped_;
  }
}

[[gnu::noinline]] void MemoryTrace::recordFree(TraceOperation operation, Region region, const void* address,
                                               size_t bytes, Owner owner, std::string_view tag) noexcept {
  const StackFrames frames = level() == 3 ? captureStack(kOwnFrames) : StackFrames{};
  const std::lock_guard lock(mutex_);
  try {
    LiveAllocation* const live = live_.find(addressOf(address));
    if (level() == 0 || (level() == 1 && !live)) return;
    TraceEvent event;
    event.operation = operation;
    event.region = region;
    event.address = addressOf(address);
    event.bytes = bytes;
    event.owner = owner;
    event.tag = tags_.intern(tag);
    event.stack = stacks_->intern(frames);
    takeFromSegment(event);
    number(event);
    push(event);
    if (operation == TraceOperation::kFreeCompleted) {
      live_.remove(event.address);
    } else if (live) {
      live->freeRequested = true;
    }
  } catch (const std::exception&) {
    ++dropped_;
  }
}

[[gnu::noinline]] void MemoryTrace::recordSegment(bool mapped, Region region, const void* address, size_t bytes,
                                                  Owner owner, std::string_view tag) noexcept {
  const StackFrames frames = captureStack(kOwnFrames);
  const std::lock_guard lock(mutex_);
  try {
    if (level() < 2) return;
    TraceEvent event;
    event.operation = mapped ? TraceOperation::kSegmentMapped : TraceOperation::kSegmentUnmapped;
    event.region = region;
    event.address = addressOf(address);
    event.bytes = bytes;
    event.owner = owner;
    event.tag = tags_.intern(tag);
    event.stack = stacks_->intern(frames);
    number(event);
    push(event);
    if (mapped) {
      live_.map({event.address, bytes, owner, event.tag, event.stack, event.sequence, event.timeNanoseconds, region});
    } else {
      live_.unmap(event.address, bytes);
    }
  } catch (const std::exception&) {
    ++dropped_;
  }
}

[[gnu::noinline]] void MemoryTrace::recordTransfer(Region region, Owner from, std::string_view fromTag, Owner to,
                                                   std::string_view toTag, size_t bytes) noexcept {
  const StackFrames frames = captureStack(kOwnFrames);
  const std::lock_guard lock(mutex_);
  try {
    if (level() < 2) return;
    TraceEvent event;
    event.operation = TraceOperation::kTransferred;
    event.region = region;
    event.bytes = bytes;
    event.owner = to;
    event.from = from;
    event.tag = tags_.intern(toTag);
    event.fromTag = tags_.intern(fromTag);
    event.stack = stacks_->intern(frames);
    number(event);
    push(event);
    live_.transfer(event);
  } catch (const std::exception&) {
    ++dropped_;
  }
}

[[gnu::noinline]] void MemoryTrace::recordOutOfMemory(Region region, size_t bytes, Owner owner,
                                                      std::string_view tag) noexcept {
  const StackFrames frames = captureStack(kOwnFrames);
  const std::lock_guard lock(mutex_);
  try {
    if (level() < 2) return;
    TraceEvent event;
    event.operation = TraceOperation::kOutOfMemory;
    event.region = region;
    event.bytes = bytes;
    event.owner = owner;
    event.tag = tags_.intern(tag);
    event.stack = stacks_->intern(frames);
    number(event);
    push(event);
  } catch (const std::exception&) {
    ++dropped_;
  }
}

void MemoryTrace::recordOwnerEnded(Owner owner) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (level() == 0) return;
    TraceEvent event;
    event.operation = TraceOperation::kOwnerEnded;
    event.owner = owner;
    number(event);
    if (level() > 1) push(event);
    live_.end(owner, event.timeNanoseconds);
  } catch (const std::exception&) {
    ++dropped_;
  }
}

bool MemoryTrace::isSampled(size_t bytes) noexcept {
  sinceSample_ += bytes;
  if (sinceSample_ < options_.sampleBytes) return false;
  sampledBytes_ = sinceSample_;
  sinceSample_ = 0;
  return true;
}

void MemoryTrace::takeFromSegment(TraceEvent& event) const noexcept {
  const LiveSegment* const segment = live_.segmentAt(event.address);
  if (!segment) return;
  event.from = segment->owner;
  event.fromTag = segment->tag;
}

void MemoryTrace::number(TraceEvent& event) noexcept {
  event.timeNanoseconds = SteadyClock().now();
  event.thread = currentThread();
  event.sequence = recorded_ + 1;
}

void MemoryTrace::push(const TraceEvent& event) noexcept {
  if (!ring_) return;
  ++recorded_;
  ring_->push(event);
  if (level() != 3 || !spill_.isUsed()) return;
  try {
    spill(event);
  } catch (const std::exception&) {
    ++dropped_;
  }
}

/** The frames of a stack precede the first event that names it. */
void MemoryTrace::spill(const TraceEvent& event) {
  for (; spilledStacks_ < event.stack; ++spilledStacks_) {
    spill_.write(stackLine(spilledStacks_ + 1, stacks_->frames(spilledStacks_ + 1)));
  }
  spill_.write(eventLine(event, tags_.names()));
}

}  // namespace octavo
