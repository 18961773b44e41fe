#include "memory/memory_statistics.h"

namespace octavo {

const char* counterName(Counter counter) {
  switch (counter) {
    case Counter::kAllocation: return "allocation";
    case Counter::kSegment: return "segment";
    case Counter::kActive: return "active";
    case Counter::kInactiveSplit: return "inactive_split";
    case Counter::kAllocatedBytes: return "allocated_bytes";
    case Counter::kReservedBytes: return "reserved_bytes";
    case Counter::kActiveBytes: return "active_bytes";
    case Counter::kInactiveSplitBytes: return "inactive_split_bytes";
    case Counter::kRequestedBytes: return "requested_bytes";
  }
  return "unknown";
}

const char* poolKindName(PoolKind kind) {
  switch (kind) {
    case PoolKind::kAll: return "all";
    case PoolKind::kSmall: return "small_pool";
    case PoolKind::kLarge: return "large_pool";
  }
  return "unknown";
}

}  // namespace octavo
