/** What allocators count, in PyTorch's words, and what is made of it. */

/** One figure over time, as PyTorch keeps it: now, the most ever, all that came and all that went. */
export interface CounterFigures {
  current: number
  peak: number
  allocated: number
  freed: number
}

/** The same over everything, over pieces of at most 1 MiB and over larger ones. */
export interface PoolFigures {
  all: CounterFigures
  small_pool: CounterFigures
  large_pool: CounterFigures
}

/**
 * Counters of an allocator under the names of `torch.cuda.memory_stats`, nested as `memory_stats_as_nested_dict` has
 * them. *allocated*: with callers; *active*: that, and what still waits for a stream; *reserved*: obtained from the
 * device; *requested*: before rounding. A *segment* is what came from the device in one piece: a page of 2 MiB of the
 * workspace, a whole allocation elsewhere. *inactive_split*: free, but on pages that also hold live bytes.
 */
export interface MemoryStatistics {
  allocation: PoolFigures
  segment: PoolFigures
  active: PoolFigures
  inactive_split: PoolFigures
  allocated_bytes: PoolFigures
  reserved_bytes: PoolFigures
  active_bytes: PoolFigures
  inactive_split_bytes: PoolFigures
  requested_bytes: PoolFigures
  num_alloc_retries: number
  num_ooms: number
  num_sync_all_streams: number
  num_device_alloc: number
  num_device_free: number
  oversize_allocations: CounterFigures
  oversize_segments: CounterFigures
  max_split_size: number
}

/** Shares within 0 and 1, higher is worse; 0 where there is nothing to divide by. Free is reserved less active. */
export interface Fragmentation {
  /** 1 − largest free block / free: how scattered is what is free? */
  external: number
  /** 1 − peak active / peak reserved: what was taken that nobody used at the peak? */
  reservationWaste: number
  /** (reserved − active) / reserved: now, legitimate cache included */
  currentSlack: number
  /** inactive split / reserved: what cannot be returned without moving live blocks */
  stuckSlack: number
  /** 1 − requested / allocated: lost to rounding */
  internal: number
  /** (free − largest free block) / reserved: free, but not in one piece */
  unusableShare: number
  largestFreeBytes: number
}
