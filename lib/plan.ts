/** What an engine will hold: `Engine.plan()` before anything is loaded, `engine.plan()` of a running one. */
import type { RegionName } from './memory.js'
import type { NativeDType, NativeKvDType } from './native.js'

/** One allocation to come, under the tag that the ledger will show it by. */
export interface PlanItem {
  region: RegionName
  tag: string
  bytes: number
}

/** The first item for which not enough is left. */
export interface PlanMisfit extends PlanItem {
  leftBytes: number
  /** By how much it does not fit. */
  shortBytes: number
}

/** A plan as the runtime makes it. */
export interface NativePlan {
  /** 'cpu', 'cuda:0' … */
  device: string
  totalBytes: number
  freeBytes: number
  /** What the driver takes for itself, before anything of ours; null: the device is not here to be measured. */
  contextBytes: number | null
  /** The hard ceiling that `memory.limit` set. */
  limitBytes: number
  /** The ceiling on pinned host memory that `memory.pinned` set; the largest size there is without one. */
  pinnedLimitBytes: number
  /** What limit, context and free memory leave for the device items. */
  roomBytes: number
  /**
   * Bytes of weights that stay in their files and are read through mappings: page cache, which the kernel gives back
   * on demand. On the CPU alone, and only when copies of all weights do not fit.
   */
  mappedBytes: number
  /** Sum of the device items: what the allocator will hold. */
  plannedBytes: number
  /** The most that is held on the device at any time, loading included. */
  peakBytes: number
  /** The most pinned host memory at any time, loading included. */
  pinnedPeakBytes: number
  items: PlanItem[]
  /** Held only until the weights are in place. */
  loading: PlanItem[]
  missing: PlanMisfit | null
  /** Of the activations. */
  dtype: NativeDType
  /** Sequences that run at once. */
  maxSequences: number
  /** Tokens of one step. */
  maxBatchTokens: number
  kv: {
    dtype: NativeKvDType
    blockSize: number
    blockBytes: number
    tokenBytes: number
    blocks: number
    /** Tokens whose KV fits. */
    tokens: number
  }
  /** Tokens of the longest session that fits alone: at most the model's context. */
  longestContext: number
  /** A session of `context` tokens: what it takes, and how many fit at once. */
  session: { context: number; blocks: number; bytes: number; count: number }
}

/** Every byte an engine will hold, by region, to the byte. All figures in bytes unless their name says otherwise. */
export interface MemoryPlan extends Omit<NativePlan, 'pinnedLimitBytes'> {
  /** Whether everything fits, and the sessions that were asked for; else `missing` says what does not. */
  fits: boolean
  pinnedLimitBytes: number | null
  /** Sums of `items`. */
  regions: Record<RegionName, number>
}

export function memoryPlan(native: NativePlan): MemoryPlan {
  const regions = { weights: 0, kv: 0, graph: 0, workspace: 0, pinned: 0 }
  for (const { region, bytes } of native.items) regions[region] += bytes
  const { pinnedLimitBytes: pinned } = native
  return {
    ...native,
    pinnedLimitBytes: pinned >= Number.MAX_SAFE_INTEGER ? null : pinned,
    fits: native.missing === null,
    regions,
  }
}
