// Many events from many threads, for the trace's tests and its benchmark.
#pragma once

#include "memory/trace/memory_trace.h"

namespace octavo::testing {

/**
 * `threads` threads record `rounds` allocations and their frees each, of addresses of their own; with
 * `switchLevels` another thread goes through the levels and takes snapshots meanwhile.
 */
void hammerTrace(MemoryTrace& trace, int threads, int rounds, bool switchLevels);

/** Nanoseconds an event, of `events` recorded by this thread: allocations and frees in turn. */
double measureTrace(MemoryTrace& trace, int events);

}  // namespace octavo::testing
