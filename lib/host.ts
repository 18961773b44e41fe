/** The host's memory as an engine watches it: `engine.memory().host`. */

/** A rung of the ladder climbed or left, or something given back on it. */
export interface HostEvent {
  /** Nanoseconds of a monotonic clock. */
  time: number
  level: HostMemory['level']
  /** What was seen or done: 'memory.high was passed'. */
  action: string
  freeBytes: number
}

/**
 * As last read, twice a second: /proc, and the files of the control group this process is in. Page cache, which the
 * kernel gives back on demand, counts as free. Figures in bytes unless their name says otherwise.
 */
export interface HostMemory {
  /** Of the machine, or the tightest limit of the control groups (`memory.max`, `memory.high`). */
  totalBytes: number
  freeBytes: number
  /** This process's share in memory now, the device's included where that is the CPU. */
  residentBytes: number
  /** Percent of the last 10 seconds in which some, or all, tasks waited for memory. */
  someStall: number
  fullStall: number
  /** Counters of the control group: throttled, at the limit, processes killed. */
  highEvents: number
  maxEvents: number
  oomKills: number
  /**
   * 'none': nothing to do. 'tight': one request at a time is admitted, and kept pinned buffers, page cache of the
   * checkpoint and free heap were given back. 'critical': new requests are refused with OCTAVO_OUT_OF_MEMORY too. What runs goes on.
   */
  level: 'none' | 'tight' | 'critical'
  /** The last 64. */
  events: HostEvent[]
}
