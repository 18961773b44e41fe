/** Plan = ledger = driver, at one moment: `engine.memory({ audit: true }).audit`. */
import type { RegionName } from './memory.js'

/** An audit as the runtime takes it. */
export interface NativeAudit {
  /** Nanoseconds of a monotonic clock: when the ledger was read, and when the driver had answered. */
  ledgerTime: number
  driverTime: number
  regions: { region: RegionName; plannedBytes: number; heldBytes: number; ledgerBytes: number }[]
  contextBytes: number
  driver: { freeBytes: number; totalBytes: number; processBytes: number | null }
  driverBytes: number
  deviceBytes: number
  residualBytes: number
  limitBytes: number
  mappedResidentBytes: number
}

/** One region: planned, held by the allocator, on the lines of the ledger. */
export interface AuditRegion {
  plannedBytes: number
  heldBytes: number
  ledgerBytes: number
  /** Held is what the ledger shows, and no more than was planned. */
  agrees: boolean
}

/** All in bytes but the times. Between the two times nothing of octavo's was taken or given back. */
export interface MemoryAudit {
  /** Nanoseconds of a monotonic clock. */
  ledgerTime: number
  driverTime: number
  regions: Record<RegionName, AuditRegion>
  /** The driver's own share, measured when the load had run its kernels. */
  contextBytes: number
  /** octavo's: all regions but 'pinned'. */
  deviceBytes: number
  /** What the driver counts. */
  driverBytes: number
  /**
   * For whom it counts: 'process' is this process (on the CPU: octavo's own counter of what the device handed out);
   * 'device' is everything on the card, where the driver does not tell processes apart: others' memory is in it.
   */
  source: 'process' | 'device'
  /** What the driver counts beyond context and octavo; below 0 it counts fewer. */
  residualBytes: number
  /** The ceiling that `memory.limit` set, and whether the driver's figure is under it. */
  limitBytes: number
  underLimit: boolean
  /**
   * Of the files that weights are read through (`memory().mapped`): what is in the page cache now, whoever read it in.
   * The kernel's to give back, so in none of the figures above.
   */
  mappedResidentBytes: number
  /** 'exact': all agree to the byte. 'close': the residual is at most 12 MB. 'apart': it is more, or a region disagrees. */
  verdict: 'exact' | 'close' | 'apart'
}

/** What drivers round and keep for themselves as streams and events come and go. */
const tolerance = 12e6

function verdictOf(regions: readonly AuditRegion[], residual: number): MemoryAudit['verdict'] {
  if (!regions.every(({ agrees }) => agrees) || Math.abs(residual) > tolerance) return 'apart'
  return residual === 0 ? 'exact' : 'close'
}

export function memoryAudit({ regions: given, driver, ...native }: NativeAudit): MemoryAudit {
  const regions: Partial<Record<RegionName, AuditRegion>> = {}
  for (const { region, ...bytes } of given) {
    const { plannedBytes, heldBytes, ledgerBytes } = bytes
    regions[region] = { ...bytes, agrees: heldBytes === ledgerBytes && heldBytes <= plannedBytes }
  }
  return {
    ...native,
    regions: regions as Record<RegionName, AuditRegion>,
    source: driver.processBytes === null ? 'device' : 'process',
    underLimit: native.driverBytes <= native.limitBytes,
    verdict: verdictOf(Object.values(regions), native.residualBytes),
  }
}
