// One thing that happened to memory, and the words for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/ledger.h"

namespace octavo {

enum class TraceOperation : uint8_t {
  kAllocated,      // bytes at an address were handed to an owner
  kFreeRequested,  // the owner gave them up; work in flight may still use them
  kFreeCompleted,  // they may be handed out again
  kSegmentMapped,  // physical memory was taken from the device
  kSegmentUnmapped,
  kTransferred,    // bytes went from one owner to another; no address: KV blocks move by count
  kOutOfMemory,    // bytes were asked for and refused
  kOwnerEnded,     // a session or request is over: what it still holds is a leak
  kSnapshot,
  kLevelChanged,   // bytes: the new level; what happened at level 0 was not seen
};
constexpr int kTraceOperationCount = 10;
const char* traceOperationName(TraceOperation operation);  // "allocated" …

/** Index into the trace's list of tags, and of stacks. 0: none, or the table was full. */
using TagId = uint32_t;
using StackId = uint32_t;

struct TraceEvent {
  uint64_t sequence = 0;      // from 1, without gaps over the life of a trace
  int64_t timeNanoseconds = 0;  // monotonic
  uint64_t address = 0;       // 0: none
  uint64_t bytes = 0;
  Owner owner;                // who has them, had them, or asked
  // kTransferred: who had them before. Allocated and freed in a mapped segment: whose line the segment is, which
  // gives the bytes and gets them back; then fromTag is not 0.
  Owner from;
  TagId tag = 0, fromTag = 0;
  StackId stack = 0;
  uint32_t thread = 0;        // as the system numbers it
  TraceOperation operation = TraceOperation::kAllocated;
  Region region = Region::kWorkspace;
};

}  // namespace octavo
