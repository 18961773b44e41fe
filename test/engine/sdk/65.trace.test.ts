import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MemorySnapshot, SnapshotBlock } from '../../../lib/index.js'
import { refusal } from '../../helpers/refusal.js'
import { expectNothingLive, loadStories } from './support.js'

afterEach(expectNothingLive)

/** What must hold of every snapshot of an engine that was traced from its load on. */
function expectWhole(snapshot: MemorySnapshot): void {
  const { segments, statistics, owners, events, stacks, frames, trace } = snapshot
  let end = 0
  for (const { address, bytes, blocks } of segments) {
    expect(address).toBeGreaterThanOrEqual(end)
    end = address + bytes
    let at = address
    for (const block of blocks) {
      expect(block.address).toBe(at)
      at += block.bytes
    }
    expect(at).toBe(end)
  }
  for (const [name, { allocatedBytes }] of Object.entries(statistics.regions)) {
    const own = segments.filter(({ region }) => region === (name as 'kv'))
    expect(own.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(allocatedBytes)
  }
  expect(owners.map(({ stack: _stack, timeNs: _time, ...line }) => line)).toEqual(statistics.ledger)
  const blocks = segments.flatMap((segment) => segment.blocks)
  const kv = (state: SnapshotBlock['state']): number =>
    blocks.filter((block) => block.state === state).reduce((sum, { count }) => sum + count, 0)
  expect(kv('free')).toBeLessThanOrEqual(statistics.kv.freeBlocks) // some are on no page
  expect(kv('owned')).toBe(statistics.kv.usedBlocks)
  expect(kv('inFlight')).toBe(statistics.kv.inFlightBlocks)
  for (const { id, bytes } of statistics.sessions) {
    const own = blocks.filter(({ owner }) => owner?.kind === 'session' && owner.id === id)
    expect(own.reduce((sum, block) => sum + block.bytes, 0)).toBe(bytes)
  }
  expect(stacks.flat().every((frame) => frames[frame] !== undefined)).toBe(true)
  expect(events.every(({ stack }) => stacks[stack] !== undefined)).toBe(true)
  expect(events).toHaveLength(trace.recorded - trace.overwritten)
}

it('accounts for every byte after the load, with the stacks that took them', async () => {
  await using engine = await loadStories({ memory: { kv: 4 * 2 ** 20, trace: 2 } })
  const snapshot = engine.memorySnapshot()
  expectWhole(snapshot)
  const { segments, stacks, frames } = JSON.parse(JSON.stringify(snapshot)) as MemorySnapshot
  const weights = segments.filter(({ region }) => region === 'weights')
  expect(weights.length).toBeGreaterThan(0)
  for (const { stack } of weights) {
    const names = stacks[stack]!.map((frame) => frames[frame]!.function ?? '')
    expect(names.join()).toMatch(/octavo::/)
  }
})

it('is whole at any moment while sessions generate, and counts come and go by events', async () => {
  await using engine = await loadStories({
    memory: { kv: 4 * 2 ** 20, trace: { level: 3, ringEvents: 100_000 } },
  })
  const sessions = [...Array(5)].map(() => engine.createSession())
  const runs = sessions.map((session) =>
    session.generate('Once upon a time', { maxNewTokens: 100, ignoreEos: true }),
  )
  await Promise.all(
    runs.map(async (run) => {
      let pieces = 0
      for await (const _ of run) if (pieces++ % 20 === 0) expectWhole(engine.memorySnapshot())
    }),
  )
  for (const session of sessions) session.dispose()
  const { events, timeNs } = engine.memorySnapshot()
  for (const [index, { sequence }] of events.entries()) expect(sequence).toBe(index + 1)
  expect(events.at(-1)!.timeNs).toBeLessThanOrEqual(timeNs)
  for (const { id } of sessions) {
    const given = (to: boolean): number =>
      events
        .filter(
          ({ operation, owner, from }) =>
            operation === 'transferred' && (to ? owner : from!).id === id,
        )
        .reduce((sum, { bytes }) => sum + bytes, 0)
    expect(given(true)).toBeGreaterThan(0)
    expect(given(false)).toBe(given(true))
    const ends = events.filter(
      ({ operation, owner }) =>
        operation === 'ownerEnded' && owner.kind === 'session' && owner.id === id,
    )
    expect(ends).toHaveLength(1)
  }
  const graphs = engine.graphs().buckets.length
  expect(engine.leaks()).toMatchObject({ leaks: [], bytes: 0, objects: { streams: 1, graphs } })
})

it('at level 0 has the statistics and the KV blocks', async () => {
  await using engine = await loadStories()
  using session = engine.createSession()
  await session.generate('Tom', { maxNewTokens: 40, ignoreEos: true }).result
  const { segments, statistics, events, trace, owners } = engine.memorySnapshot()
  expect(trace).toMatchObject({ level: 0, recorded: 0, spill: null })
  expect(events).toEqual([])
  expect(owners.map(({ bytes }) => bytes)).toEqual(statistics.ledger.map(({ bytes }) => bytes))
  expect(segments).toMatchObject([{ region: 'kv', tag: 'kv.padding' }])
  const own = segments[0]!.blocks.filter(({ state }) => state === 'owned')
  expect(own).toMatchObject([{ owner: { kind: 'session', id: session.id }, count: 2 }])
})

it('sampled, it has the allocations that the samples fell on', async () => {
  await using engine = await loadStories({ memory: { kv: 8 * 2 ** 20, trace: 1 } })
  await engine.logits([1, 403, 407])
  const { events, trace } = engine.memorySnapshot()
  expect(trace).toMatchObject({ level: 1, sampleBytes: 2 ** 20 })
  const operations = new Set(events.map(({ operation }) => operation))
  expect(operations.has('allocated')).toBe(true)
  expect(operations.has('transferred')).toBe(false)
})

describe('setTraceLevel', () => {
  it('refuses what is no level, and a disposed engine', async () => {
    const engine = await loadStories()
    for (const level of [4, -1, 1.5, '2', undefined]) {
      expect(refusal(() => engine.setTraceLevel(level as 2)).code).toBe('OCTAVO_INVALID_ARGUMENT')
    }
    engine.setTraceLevel(2)
    expect(engine.memorySnapshot().trace.level).toBe(2)
    engine.dispose()
    for (const call of [
      () => engine.setTraceLevel(1),
      () => engine.memorySnapshot(),
      () => engine.leaks(),
    ]) {
      expect(refusal(call).code).toBe('OCTAVO_DISPOSED')
    }
  })
})

describe('the spill file', () => {
  let folder: string
  let warnings: [string, string | undefined][]
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'octavo-spill-'))
    warnings = []
    jest
      .spyOn(process, 'emitWarning')
      .mockImplementation(((message: string, { code }: { code?: string }) =>
        warnings.push([message, code])) as typeof process.emitWarning)
  })
  afterEach(() => {
    jest.restoreAllMocks()
    rmSync(folder, { recursive: true })
  })

  it('is complete after dispose', async () => {
    const spill = join(folder, 'events.jsonl')
    const engine = await loadStories({ memory: { trace: { level: 3, spill } } })
    const { recorded } = engine.memorySnapshot().trace
    engine.dispose()
    const sequences = readFileSync(spill, 'utf8').match(/"sequence":\d+/g)!
    expect(sequences.length).toBeGreaterThan(recorded)
    expect(sequences.at(-1)).toBe(`"sequence":${sequences.length}`)
    expect(warnings).toEqual([])
  })

  it('that has stopped is told once, by a process warning', async () => {
    const spill = { path: join(folder, 'events.jsonl'), maxBytes: 600 }
    const engine = await loadStories({ memory: { trace: { level: 3, spill } } })
    expect(engine.memorySnapshot().trace.spill).toMatchObject({
      problem: expect.any(String) as string,
    })
    engine.memorySnapshot()
    engine.dispose()
    expect(warnings).toEqual([
      [expect.stringMatching(/reached its bound of 600 bytes/), 'OCTAVO_TRACE_SPILL'],
    ])
  })

  it('that cannot be made refuses the load, and nothing is left', async () => {
    const spill = join(folder, 'missing', 'events.jsonl')
    await expect(loadStories({ memory: { trace: { level: 3, spill } } })).rejects.toMatchObject({
      code: 'OCTAVO_IO_FAILED',
    })
  })
})
