// Plan, ledger and driver, compared at one moment.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device.h"
#include "memory/ledger.h"

namespace octavo {

struct AuditRegion {
  size_t plannedBytes = 0;
  size_t heldBytes = 0;    // as the allocator counts them
  size_t ledgerBytes = 0;  // sum of the ledger's lines
};

/** Times are of the engine's clock, in nanoseconds: between them nothing of ours was taken or given back. */
struct MemoryAudit {
  int64_t ledgerTime = 0, driverTime = 0;
  AuditRegion regions[kRegionCount];
  size_t contextBytes = 0;  // the driver's own, measured when the load had ended
  DeviceMemoryUse driver;
  /**
   * What the driver counts: for this process, else for all of the device (then other processes' memory is in it),
   * `driver.processBytes` says which.
   */
  size_t driverBytes = 0;
  size_t deviceBytes = 0;   // ours: all regions but pinned
  /** Bytes the driver counts beyond context and ours; below 0: it counts fewer. */
  int64_t residualBytes = 0;
  size_t limitBytes = 0;    // the ceiling on driverBytes
  /** Page cache of the files that weights are read through: the kernel's, in none of the figures above. */
  uint64_t mappedResidentBytes = 0;
};

}  // namespace octavo
