#include "memory/trace/trace_event.h"

namespace octavo {

const char* traceOperationName(TraceOperation operation) {
  switch (operation) {
    case TraceOperation::kAllocated: return "allocated";
    case TraceOperation::kFreeRequested: return "freeRequested";
    case TraceOperation::kFreeCompleted: return "freeCompleted";
    case TraceOperation::kSegmentMapped: return "segmentMapped";
    case TraceOperation::kSegmentUnmapped: return "segmentUnmapped";
    case TraceOperation::kTransferred: return "transferred";
    case TraceOperation::kOutOfMemory: return "outOfMemory";
    case TraceOperation::kOwnerEnded: return "ownerEnded";
    case TraceOperation::kSnapshot: return "snapshot";
    case TraceOperation::kLevelChanged: return "levelChanged";
  }
  return "unknown";
}

}  // namespace octavo
