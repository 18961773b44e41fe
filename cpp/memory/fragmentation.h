// Figures of fragmentation, from an allocator's counters.
#pragma once

#include "memory/memory_statistics.h"

namespace octavo {

/**
 * Shares are within 0 and 1, higher is worse, 0 where there is nothing to divide by. Free is reserved less active.
 */
struct Fragmentation {
  double external = 0;          // 1 − largest free block / free: how scattered is what is free?
  double reservationWaste = 0;  // 1 − peak active / peak reserved: what was taken that nobody used at the peak?
  double currentSlack = 0;      // (reserved − active) / reserved: now, legitimate cache included
  double stuckSlack = 0;        // inactive split / reserved: cannot be returned without moving live blocks
  double internal = 0;          // 1 − requested / allocated: lost to rounding
  double unusableShare = 0;     // (free − largest free block) / reserved: free, but not in one piece
  size_t largestFreeBytes = 0;
};

Fragmentation fragmentationOf(const MemoryStatistics& statistics);

}  // namespace octavo
