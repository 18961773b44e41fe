import { memoryReport } from '../../../lib/memory.js'
import type { Fragmentation, MemoryStatistics } from '../../../lib/memory-statistics.js'
import { calmHost } from '../../fakes/native-engine.js'
import type { NativeReport } from '../../../lib/native.js'

const figures = { current: 0, peak: 0, allocated: 0, freed: 0 }
const pools = { all: figures, small_pool: figures, large_pool: figures }
const statistics: MemoryStatistics = {
  ...{ allocation: pools, segment: pools, active: pools, inactive_split: pools },
  ...{ allocated_bytes: pools, reserved_bytes: pools, active_bytes: pools },
  ...{ inactive_split_bytes: pools, requested_bytes: pools },
  ...{ num_alloc_retries: 0, num_ooms: 0, num_sync_all_streams: 0 },
  ...{ num_device_alloc: 0, num_device_free: 0, max_split_size: 0 },
  ...{ oversize_allocations: figures, oversize_segments: figures },
}
const fragmentation: Fragmentation = {
  ...{ external: 0, reservationWaste: 0, currentSlack: 0, stuckSlack: 0, internal: 0 },
  ...{ unusableShare: 0, largestFreeBytes: 0 },
}
const more = { statistics, fragmentation }
const counters = { allocatedPeakBytes: 9, allocations: 3, frees: 1, failures: 0 }
const batch = {
  sequences: 12,
  tokens: 600,
  promptTokens: 256,
  memorySequences: 20,
  expectedTokens: 900,
  lowered: 5,
  raised: 2,
  late: 11,
}

const native: NativeReport = {
  lines: [
    {
      region: 'kv',
      ownerKind: 'session',
      ownerId: 4,
      tag: 'kv.blocks',
      bytes: 64,
      peakBytes: 128,
      count: 2,
    },
  ],
  regions: [
    { region: 'weights', limitBytes: 100, allocatedBytes: 90, ...counters, ...more },
    { region: 'kv', limitBytes: 200, allocatedBytes: 150, ...counters, ...more },
    { region: 'graph', limitBytes: 2 ** 64, allocatedBytes: 10, ...counters, ...more },
    { region: 'workspace', limitBytes: 0, allocatedBytes: 0, ...counters, ...more },
    { region: 'pinned', limitBytes: 2 ** 64, allocatedBytes: 1000, ...counters, ...more },
  ],
  driver: { freeBytes: 600, totalBytes: 1000, processBytes: 300 },
  limit: 850,
  contextBytes: 40,
  blocksTotal: 10,
  blocksFree: 7,
  blocksOwned: 2,
  blocksInFlight: 1,
  blocksCapacity: 10,
  pages: {
    mapped: 2,
    used: 1,
    packed: 1,
    mappedBytes: 2 ** 22,
    liveBytes: 96,
    stuckBytes: 2 ** 21 - 96,
  },
  quarantine: { blocks: 2, sessions: 1, violations: ['KV block 9 is free'] },
  compaction: {
    slices: 2,
    moves: 3,
    bytes: 96,
    pagesFreed: 1,
    longestNanoseconds: 2_000_000,
    nanoseconds: 2_500_000,
  },
  eviction: { sessions: 2, blocks: 5, tokens: 150, pages: 1 },
  prefix: {
    enabled: true,
    blocks: 6,
    cached: 3,
    shared: 1,
    history: 4,
    queries: 5,
    queryTokens: 900,
    sessionTokens: 100,
    hitTokens: 300,
    evicted: 2,
    merged: 1,
    copied: 8,
  },
  blockBytes: 32,
  mappedBytes: 4096,
  sessions: [
    {
      id: 4,
      blocks: 2,
      blocksOfOthers: 0,
      bytes: 64,
      tokens: 30,
      state: 'running',
      place: 0,
      parent: 0,
    },
  ],
  running: 1,
  waiting: 2,
  preemptions: 3,
  stalls: 4,
  batch,
  overlapped: 5,
  steps: 77,
  stepTimes: { plan: 1e6, upload: 2e6, launch: 3e6, wait: 4e6, book: 5e6, tell: 6e6 },
  host: calmHost,
}

it('tells how large a batch may be', () => {
  expect(memoryReport('cuda:0', native).scheduler).toEqual({
    preemptions: 3,
    stalls: 4,
    overlapped: 5,
    batch,
  })
})

describe('memoryReport', () => {
  const report = memoryReport('cuda:0', native)

  it('names the owner of every line', () => {
    expect(report.ledger).toEqual([
      {
        region: 'kv',
        owner: { kind: 'session', id: 4 },
        tag: 'kv.blocks',
        bytes: 64,
        peakBytes: 128,
        count: 2,
      },
    ])
  })

  it('names the owner of weights that stay in their files', () => {
    expect(report.mapped).toEqual({
      owner: { kind: 'engine', id: 0 },
      tag: 'weights.mapped',
      bytes: 4096,
    })
  })

  it('sums the device regions, without the pinned host memory', () => {
    expect(report.allocatedBytes).toBe(250)
    expect(report.regions.weights).toEqual({ limitBytes: 100, allocatedBytes: 90, ...counters })
    expect(report.regions.graph.limitBytes).toBeNull()
  })

  it("shows every region's statistics and fragmentation", () => {
    const busy = { ...statistics, num_ooms: 3 }
    const torn = { ...fragmentation, external: 0.25 }
    const [weights, ...rest] = native.regions
    const changed = { ...weights!, statistics: busy, fragmentation: torn }
    const shown = memoryReport('cuda:0', { ...native, regions: [changed, ...rest] })
    expect(shown.statistics.weights.num_ooms).toBe(3)
    expect(shown.statistics.kv.num_ooms).toBe(0)
    expect(shown.fragmentation.weights.external).toBe(0.25)
    expect(shown.regions.weights).not.toHaveProperty('statistics')
  })

  it('tells the time of the steps in milliseconds', () => {
    expect(report.stepTimes).toEqual({
      ...{ planMs: 1, uploadMs: 2, launchMs: 3, waitMs: 4, bookMs: 5, tellMs: 6 },
    })
  })

  it('accounts for every block', () => {
    expect(report.kv).toEqual({
      totalBlocks: 10,
      capacityBlocks: 10,
      freeBlocks: 7,
      usedBlocks: 2,
      cachedBlocks: 3,
      inFlightBlocks: 1,
      blockBytes: 32,
      pages: {
        mapped: 2,
        used: 1,
        packed: 1,
        mappedBytes: 2 ** 22,
        stuckBytes: 2 ** 21 - 96,
        pinning: 2 ** 22 / 96,
      },
      quarantine: { blocks: 2, bytes: 64, sessions: 1, violations: ['KV block 9 is free'] },
      compaction: {
        slices: 2,
        moves: 3,
        bytes: 96,
        pagesFreed: 1,
        longestMs: 2,
        totalMs: 2.5,
      },
      eviction: { sessions: 2, blocks: 5, bytes: 160, tokens: 150, pages: 1 },
      prefix: {
        enabled: true,
        blocks: 6,
        cachedBlocks: 3,
        sharedBlocks: 1,
        history: 4,
        queries: 5,
        queryTokens: 900,
        sessionTokens: 100,
        hitTokens: 300,
        evictedBlocks: 2,
        mergedBlocks: 1,
        copiedBlocks: 8,
      },
    })
    const empty = { ...native, pages: { ...native.pages, liveBytes: 0 } }
    expect(memoryReport('cuda:0', empty).kv.pages.pinning).toBeNull()
  })

  it('sets what the driver sees beside what we hold', () => {
    expect(report.external).toEqual({ contextBytes: 40, bytes: 50 })
    const blind = { ...native, driver: { ...native.driver, processBytes: null } }
    expect(memoryReport('cuda:0', blind).external.bytes).toBeNull()
  })
})
