import { memoryReport } from '../../../lib/memory.js'
import { calmHost } from '../../fakes/native-engine.js'
import type { NativeReport } from '../../../lib/native.js'

const counters = { allocatedPeakBytes: 9, allocations: 3, frees: 1, failures: 0 }
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
    { region: 'weights', limitBytes: 100, allocatedBytes: 90, ...counters },
    { region: 'kv', limitBytes: 200, allocatedBytes: 150, ...counters },
    { region: 'graph', limitBytes: 2 ** 64, allocatedBytes: 10, ...counters },
    { region: 'workspace', limitBytes: 0, allocatedBytes: 0, ...counters },
    { region: 'pinned', limitBytes: 2 ** 64, allocatedBytes: 1000, ...counters },
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
  compaction: {
    slices: 2,
    moves: 3,
    bytes: 96,
    pagesFreed: 1,
    longestNanoseconds: 2_000_000,
    nanoseconds: 2_500_000,
  },
  blockBytes: 32,
  sessions: [{ id: 4, blocks: 2, bytes: 64, tokens: 30, state: 'running' }],
  running: 1,
  waiting: 2,
  steps: 77,
  hostNanoseconds: 0,
  host: calmHost,
}

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

  it('sums the device regions, without the pinned host memory', () => {
    expect(report.allocatedBytes).toBe(250)
    expect(report.regions.weights).toEqual({ limitBytes: 100, allocatedBytes: 90, ...counters })
    expect(report.regions.graph.limitBytes).toBeNull()
  })

  it('accounts for every block', () => {
    expect(report.kv).toEqual({
      totalBlocks: 10,
      capacityBlocks: 10,
      freeBlocks: 7,
      usedBlocks: 2,
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
      compaction: {
        slices: 2,
        moves: 3,
        bytes: 96,
        pagesFreed: 1,
        longestMs: 2,
        totalMs: 2.5,
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
