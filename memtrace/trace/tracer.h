// All that the tracer knows of this process, and the calls by which the wrappers tell it.
#pragma once

#include "driver/types.h"
#include "trace/event_log.h"
#include "trace/group_table.h"
#include "trace/live_table.h"
#include "trace/physical_memory.h"
#include "trace/stack_table.h"
#include "trace/statistics.h"

namespace octavo::memtrace {

struct Tracer {
  LiveTable live;
  PhysicalMemory physical;
  StackTable stacks;
  Statistics statistics;
  EventLog events;
  GroupTable endedWithContext;
  /** Frees of what no allocation is known for: those that the driver took, and those that it refused. */
  GroupTable unknownFrees;
  GroupTable refusedFrees;
  std::atomic<uint64_t> sequence{0};
  int64_t start = 0;
  int process = 0;
  /** exit has been called, or main has returned: contexts that go now take no allocation off the books. */
  std::atomic<bool> ending{false};
};

Tracer& tracer();

/** An allocation record of now and here: time, thread, stack, context. */
Allocation recordHere(Kind kind, uint64_t address, uint64_t bytes, uint64_t stream);

/** A successful allocation. */
void allocated(Kind kind, uint64_t address, uint64_t bytes, uint64_t stream = 0);

/** Same for a record made by the caller and kept elsewhere (physical memory). */
void began(const Allocation& allocation);
void ended(const Allocation& allocation);

/** A free of something unknown, which the driver took or refused. */
void freedUnknown(Kind kind, uint64_t address, Result result);

/** Everything made in this context goes with it. */
void contextEnded(uint64_t context);

/**
 * A free on its way: the record is taken out before the driver is called, because the driver may give the address to
 * another thread before it returns, and put back when the driver refuses.
 */
class Release {
 public:
  Release(bool traced, Space space, uint64_t address);
  /** Books the driver's answer and passes it on. */
  Result settle(Result result);

 private:
  const bool traced_;
  const Space space_;
  const uint64_t address_;
  bool known_;
  Allocation allocation_;
};

/** The child of a fork begins with nothing: its parent's device memory is not its own. */
void startAsChild();

}  // namespace octavo::memtrace
