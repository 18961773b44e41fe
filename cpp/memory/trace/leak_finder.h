// Bytes whose owner is over.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "memory/trace/memory_trace.h"

namespace octavo {

struct Leak {
  Region region = Region::kWorkspace;
  Owner owner;
  std::string tag;
  size_t bytes = 0;
  uint64_t count = 0;            // allocations or blocks
  uint64_t address = 0;          // 0: not one allocation, or allocated while nothing was traced
  int64_t sinceNanoseconds = 0;  // when the owner got the last of them, and when it ended; 0: not traced
  int64_t endedNanoseconds = 0;
  StackId stack = 0;             // of the snapshot
};

/**
 * The ledger says what is held, so nothing is missed at any level; the trace adds addresses, times and stacks
 * where it has seen them. `isLive`: whether an owner is still there. O(lines × live allocations of the trace).
 */
std::vector<Leak> findLeaks(const std::vector<LedgerLine>& lines, const TraceSnapshot& trace,
                            const std::function<bool(Owner)>& isLive);

/** What the trace still holds, a sentence with owner and stack for each; empty when nothing, or at level 0. */
std::string describeLive(const TraceSnapshot& trace);

}  // namespace octavo
