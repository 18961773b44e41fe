/** `engine.memory()`: every byte with its owner, as the runtime counts and the driver sees it. */
import type { MemoryAudit } from './audit.js'
import type { HostMemory } from './host.js'
import type { Fragmentation, MemoryStatistics } from './memory-statistics.js'
import type { NativeLedgerLine, NativeReport } from './native.js'
import { stepTimes, type StepTimes } from './step-times.js'

/**
 * A named share of memory with a limit. 'pinned' is host memory: locked for the device on CUDA, ordinary RAM
 * on the CPU; on both it is outside `memory.limit`.
 */
export type RegionName = NativeLedgerLine['region']

/** One line of the ledger: bytes that one owner holds in one region under one tag. */
export interface LedgerLine {
  region: RegionName
  owner: { kind: NativeLedgerLine['ownerKind']; id: number }
  /** What it is for: 'kv.blocks' of a session, 'kv.free' of the engine, … */
  tag: string
  bytes: number
  /** The most bytes this line held since it appeared. */
  peakBytes: number
  /** Live allocations, or KV blocks. */
  count: number
}

/** Counters of one region. */
export interface RegionReport {
  /** The ceiling; null where there is none. */
  limitBytes: number | null
  allocatedBytes: number
  allocatedPeakBytes: number
  allocations: number
  frees: number
  /** Requests refused, by the limit or by the device. */
  failures: number
}

/** The pool of KV blocks: free + used + cached + in flight = capacity, quarantine left out. Memory is held page by page, as blocks need it. */
export interface KvReport {
  totalBlocks: number
  /** What can be held at once: all, or fewer since the device refused a page. */
  capacityBlocks: number
  freeBlocks: number
  /** Owned by sessions. */
  usedBlocks: number
  /** Held by no session, kept for prompts that begin alike. */
  cachedBlocks: number
  /** Given back, reusable when the step that may still read them has ended. */
  inFlightBlocks: number
  blockBytes: number
  pages: KvPages
  quarantine: QuarantineReport
  compaction: CompactionReport
  eviction: EvictionReport
  prefix: PrefixCacheReport
}

/** How the KV blocks lie on pages of 2 MiB. */
export interface KvPages {
  /** Pages that have memory. */
  mapped: number
  /** Of these, pages with a block that is used or in flight. */
  used: number
  /** The floor: pages that those blocks would need end to end. */
  packed: number
  mappedBytes: number
  /** Bytes on used pages that no such block has. */
  stuckBytes: number
  /** Mapped bytes that one byte of such a block costs; 1 is the least, and null where there is no block. */
  pinning: number | null
}

/**
 * KV blocks that nobody gets any more because tables and lists did not agree about them, which would be a bug of octavo.
 * Their bytes are on the ledger as `kv.quarantine` until the engine is disposed.
 */
export interface QuarantineReport {
  blocks: number
  bytes: number
  /** Sessions that ended for it, with OCTAVO_INTERNAL. */
  sessions: number
  /** The last 16 sentences, each naming a block, its owner and the stack that took it as far as it is known. */
  violations: string[]
}

/** What moving KV blocks together has done since the load. */
export interface CompactionReport {
  /** Pauses of the engine. */
  slices: number
  /** Blocks moved. */
  moves: number
  bytes: number
  pagesFreed: number
  /** The longest pause, and all of them together, in milliseconds. */
  longestMs: number
  totalMs: number
}

/** What sessions that did not run have lost to those that did, since the load. */
export interface EvictionReport {
  /** Times that a session lost some of its KV. */
  sessions: number
  blocks: number
  bytes: number
  /** Tokens whose KV it was: computed again when a prompt wants them again. */
  tokens: number
  /** Pages without a block after it. */
  pages: number
}

/** The prefix cache now, and what it has done since the load. */
export interface PrefixCacheReport {
  /** False: `prefixCache` is off. */
  enabled: boolean
  /** That can be found by a prompt. */
  blocks: number
  /** Of these, held by no session. */
  cachedBlocks: number
  /** Held by several sessions. */
  sharedBlocks: number
  /** Evicted blocks whose last use is remembered. */
  history: number
  /** Prompts looked up, and their tokens. */
  queries: number
  queryTokens: number
  /** Of these tokens: found in the session's own KV. */
  sessionTokens: number
  /** And beyond that in blocks of other sessions, or of none. */
  hitTokens: number
  /** Blocks given up for others. */
  evictedBlocks: number
  /** Blocks given up because one with the same tokens was there first. */
  mergedBlocks: number
  /** Shared blocks copied before a write. */
  copiedBlocks: number
}

/** What one session holds. */
export interface SessionReport {
  id: number
  /** That its next step reads. */
  blocks: number
  /** Of these, on the ledger lines of sessions that have held them longer. */
  blocksOfOthers: number
  /** Of its own blocks: its line of the ledger. */
  bytes: number
  /** Tokens whose KV is held. */
  tokens: number
  state: string
  /** In the order of service of the requests that wait, 1 for the next; 0: its request does not wait. */
  place: number
  /** Of the session that a sample of several runs in (`n` of generate): whose prompt it shares. 0: a session of its own. */
  parent: number
}

/**
 * Weights that stay in their files and are read through mappings (the CPU, when copies do not fit): whose they are and
 * how many bytes. They are page cache, which the kernel reads in and takes back, and in no region; how many of them are
 * in memory now, an audit says.
 */
export interface MappedReport {
  owner: { kind: 'engine'; id: 0 }
  tag: 'weights.mapped'
  bytes: number
}

/** How large a batch may be now, and what made it so. */
export interface BatchReport {
  /** Requests that may run at once: `maxSequences`, or fewer for want of time or, with optimistic admission, of memory. */
  sequences: number
  /** Tokens of a step in which somebody decodes: `maxBatchTokens`, or fewer for the target. */
  tokens: number
  /**
   * Of these, tokens of prompts: as many as make such a step take twice as long as one of decodes alone; with a target, all
   * that are on time. 0: the next step measures decodes alone.
   */
  promptTokens: number
  /** Requests that the KV cache has room for, as far as is foreseen. */
  memorySequences: number
  /** Tokens that a request is foreseen to come to hold. */
  expectedTokens: number
  /** Since the load: steps over `targetInterTokenMs`, and how often that lowered `tokens` or raised them again. */
  late: number
  lowered: number
  raised: number
}

/** All of an engine's memory at one moment. Every figure in bytes unless its name says otherwise. */
export interface MemoryReport {
  device: string
  /** The hard ceiling that `memory.limit` set. */
  limitBytes: number
  /** Sum of the device regions (all but 'pinned', on the CPU too): what the allocator holds. */
  allocatedBytes: number
  regions: Record<RegionName, RegionReport>
  /** The regions' counters in full, under PyTorch's names. */
  statistics: Record<RegionName, MemoryStatistics>
  fragmentation: Record<RegionName, Fragmentation>
  ledger: LedgerLine[]
  kv: KvReport
  mapped: MappedReport
  sessions: SessionReport[]
  /**
   * As the driver tells; `processBytes` is null where it does not. On the CPU free and total are the operating
   * system's or the cgroup's, but `processBytes` is octavo's own counter of what the device handed out, 'pinned'
   * left out: nothing independent of octavo, and not this process's size.
   */
  driver: { freeBytes: number; totalBytes: number; processBytes: number | null }
  /**
   * Memory that is not ours to give out. `contextBytes`: measured when the load had run its kernels. `bytes`: what the
   * driver attributes to this process beyond `allocatedBytes`; null where it does not tell. On the CPU
   * both say nothing of the rest of the process.
   */
  external: { contextBytes: number; bytes: number | null }
  /** Requests running and waiting. */
  requests: { running: number; waiting: number }
  /**
   * Since the load: how often a request had to make room while it ran (`preemptions`, of optimistic admission), and how
   * often one waited a step so that another could end (`stalls`, of guaranteed admission); how many steps were launched
   * while the one before was running (`overlapped`, of an engine loaded with `overlap`). And how large a batch may be now.
   */
  scheduler: { preemptions: number; stalls: number; overlapped: number; batch: BatchReport }
  /** Done since the load. */
  steps: number
  stepTimes: StepTimes
  /** The host's memory as last read, and what was done about it. */
  host: HostMemory
  /** Plan, ledger and driver compared; null unless `engine.memory({ audit: true })` asked for it. */
  audit: MemoryAudit | null
}

/** A region without a ceiling reports the largest size there is. */
const limitOrNull = (bytes: number): number | null =>
  bytes >= Number.MAX_SAFE_INTEGER ? null : bytes

function byRegion<T>(
  report: NativeReport,
  figures: (region: NativeReport['regions'][number]) => T,
): Record<RegionName, T> {
  const entries = report.regions.map((region) => [region.region, figures(region)] as const)
  return Object.fromEntries(entries) as Record<RegionName, T>
}

const regionReport = (region: NativeReport['regions'][number]): RegionReport => ({
  limitBytes: limitOrNull(region.limitBytes),
  allocatedBytes: region.allocatedBytes,
  allocatedPeakBytes: region.allocatedPeakBytes,
  allocations: region.allocations,
  frees: region.frees,
  failures: region.failures,
})

const ledgerLine = ({ ownerKind, ownerId, ...line }: NativeLedgerLine): LedgerLine => ({
  ...line,
  owner: { kind: ownerKind, id: ownerId },
})

const prefixReport = (prefix: NativeReport['prefix']): PrefixCacheReport => ({
  enabled: prefix.enabled,
  blocks: prefix.blocks,
  cachedBlocks: prefix.cached,
  sharedBlocks: prefix.shared,
  history: prefix.history,
  queries: prefix.queries,
  queryTokens: prefix.queryTokens,
  sessionTokens: prefix.sessionTokens,
  hitTokens: prefix.hitTokens,
  evictedBlocks: prefix.evicted,
  mergedBlocks: prefix.merged,
  copiedBlocks: prefix.copied,
})

function kvReport(report: NativeReport): KvReport {
  const { liveBytes, ...pages } = report.pages
  const { longestNanoseconds, nanoseconds, ...compaction } = report.compaction
  return {
    totalBlocks: report.blocksTotal,
    capacityBlocks: report.blocksCapacity,
    freeBlocks: report.blocksFree,
    usedBlocks: report.blocksOwned,
    cachedBlocks: report.prefix.cached,
    inFlightBlocks: report.blocksInFlight,
    blockBytes: report.blockBytes,
    quarantine: {
      ...report.quarantine,
      bytes: report.quarantine.blocks * report.blockBytes,
    },
    pages: { ...pages, pinning: liveBytes === 0 ? null : pages.mappedBytes / liveBytes },
    compaction: {
      ...compaction,
      longestMs: longestNanoseconds / 1e6,
      totalMs: nanoseconds / 1e6,
    },
    eviction: { ...report.eviction, bytes: report.eviction.blocks * report.blockBytes },
    prefix: prefixReport(report.prefix),
  }
}

export function memoryReport(
  device: string,
  report: NativeReport,
  audit: MemoryAudit | null = null,
): MemoryReport {
  const { driver } = report
  const allocatedBytes = report.regions
    .filter(({ region }) => region !== 'pinned')
    .reduce((sum, region) => sum + region.allocatedBytes, 0)
  const externalBytes = driver.processBytes === null ? null : driver.processBytes - allocatedBytes
  return {
    device,
    limitBytes: report.limit,
    allocatedBytes,
    regions: byRegion(report, regionReport),
    statistics: byRegion(report, ({ statistics }) => statistics),
    fragmentation: byRegion(report, ({ fragmentation }) => fragmentation),
    ledger: report.lines.map(ledgerLine),
    kv: kvReport(report),
    mapped: { owner: { kind: 'engine', id: 0 }, tag: 'weights.mapped', bytes: report.mappedBytes },
    sessions: report.sessions,
    driver,
    external: { contextBytes: report.contextBytes, bytes: externalBytes },
    requests: { running: report.running, waiting: report.waiting },
    scheduler: {
      preemptions: report.preemptions,
      stalls: report.stalls,
      overlapped: report.overlapped,
      batch: report.batch,
    },
    steps: report.steps,
    stepTimes: stepTimes(report.stepTimes),
    host: report.host,
    audit,
  }
}
