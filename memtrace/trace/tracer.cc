#include "trace/tracer.h"

#include <unistd.h>

#include <new>

#include "base/clock.h"
#include "driver/context.h"
#include "stack/capture.h"
#include "trace/thread_state.h"

namespace octavo::memtrace {

namespace {

constinit Tracer state;

Kind anyKindOf(Space space) {
  for (size_t index = 0; index < kKinds; index++) {
    if (kKindTraits[index].space == space) return static_cast<Kind>(index);
  }
  return Kind::kDevice;
}

}  // namespace

Tracer& tracer() { return state; }

Allocation recordHere(Kind kind, uint64_t address, uint64_t bytes, uint64_t stream) {
  Frames frames;
  captureStack(&frames);
  const uint64_t sequence = state.sequence.fetch_add(1, std::memory_order_relaxed) + 1;
  return {address, bytes, sequence, now(), stream, currentContext(), state.stacks.intern(frames), threadId(), kind};
}

void began(const Allocation& allocation) {
  state.statistics.began(allocation.kind, allocation.bytes);
  state.events.add("alloc", allocation, allocation.time, state.start);
}

void ended(const Allocation& allocation) {
  state.statistics.ended(allocation.kind, allocation.bytes);
  Allocation here = allocation;
  here.thread = threadId();
  state.events.add("free", here, now(), state.start);
}

void allocated(Kind kind, uint64_t address, uint64_t bytes, uint64_t stream) {
  const Allocation allocation = recordHere(kind, address, bytes, stream);
  began(allocation);
  Allocation replaced;
  const auto added = state.live.add(allocation, &replaced);
  if (added == LiveTable::Added::kReplaced) {
    state.statistics.replaced.fetch_add(1, std::memory_order_relaxed);
    ended(replaced);
  } else if (added == LiveTable::Added::kNoMemory) {
    state.statistics.lost.fetch_add(1, std::memory_order_relaxed);
    state.statistics.ended(kind, bytes);
  }
}

void freedUnknown(Kind kind, uint64_t address, Result result) {
  const bool taken = result == kSuccess;
  auto& count = taken ? state.statistics.unknownFrees : state.statistics.refusedFrees;
  count.fetch_add(1, std::memory_order_relaxed);
  auto& groups = taken ? state.unknownFrees : state.refusedFrees;
  if (!groups.add(recordHere(kind, address, 0, 0))) state.statistics.lost++;
}

void contextEnded(uint64_t context) {
  if (context == 0 || state.ending.load(std::memory_order_relaxed)) return;
  const int64_t time = now();
  state.live.takeAll(
      [&](const Allocation& allocation) {
        return allocation.context == context && traitsOf(allocation.kind).endsWithContext;
      },
      [&](const Allocation& allocation) {
        state.statistics.endedWithItsContext(allocation.kind, allocation.bytes);
        state.events.add("end", allocation, time, state.start);
        if (!state.endedWithContext.add(allocation)) state.statistics.lost++;
      });
}

Release::Release(bool traced, Space space, uint64_t address)
    : traced_(traced && address != 0),
      space_(space),
      address_(address),
      known_(traced_ && state.live.take(space, address, &allocation_)) {}

Result Release::settle(Result result) {
  if (!traced_) return result;
  if (!known_) {
    freedUnknown(anyKindOf(space_), address_, result);
    return result;
  }
  Allocation replaced;
  if (result == kSuccess) ended(allocation_);
  else state.live.add(allocation_, &replaced);
  return result;
}

void startAsChild() {
  new (&state) Tracer();
  state.start = now();
  state.process = getpid();
}

}  // namespace octavo::memtrace
