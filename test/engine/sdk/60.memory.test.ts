import type { Engine, MemoryReport, RegionName } from '../../../lib/index.js'
import { expectNothingLive, ledgerOf, loadStories, sessionBytes } from './support.js'

let engine: Engine
beforeAll(async () => {
  engine = await loadStories({ memory: { limit: 64 * 2 ** 20, kv: 4 * 2 ** 20 } })
})
afterAll(() => {
  engine.dispose()
  expectNothingLive()
})

/** What must hold at every moment. */
function expectConsistent(report: MemoryReport): void {
  const { regions, ledger, kv, sessions } = report
  for (const [name, region] of Object.entries(regions)) {
    const lines = ledger.filter((line) => line.region === (name as RegionName))
    expect(lines.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(region.allocatedBytes)
    expect(region.allocatedBytes).toBeLessThanOrEqual(region.limitBytes ?? Infinity)
    expect(region.allocatedPeakBytes).toBeGreaterThanOrEqual(region.allocatedBytes)
  }
  expect(report.allocatedBytes).toBeLessThanOrEqual(report.limitBytes)
  expect(kv.freeBlocks + kv.usedBlocks + kv.inFlightBlocks).toBe(kv.totalBlocks)
  for (const { id, blocks, bytes, tokens } of sessions) {
    expect(bytes).toBe(blocks * kv.blockBytes)
    expect(tokens).toBeLessThanOrEqual(blocks * 32)
    expect(bytes).toBe(sessionBytes(report, id))
  }
}

describe('the memory report', () => {
  it('holds the plan after the load: weights, KV, activations, all of the engine', () => {
    const report = engine.memory()
    expectConsistent(report)
    expect(report.device).toBe('cpu')
    expect(report.limitBytes).toBe(64 * 2 ** 20)
    expect(report.regions.weights.allocatedBytes).toBeGreaterThanOrEqual(engine.model.weightBytes)
    expect(report.kv.totalBlocks * report.kv.blockBytes).toBeLessThanOrEqual(4 * 2 ** 20)
    // layers · 2 · KV heads · head size · fp32 · tokens of a block
    expect(report.kv.blockBytes).toBe(5 * 2 * 4 * 8 * 4 * 32)
    expect(report.ledger.every(({ owner }) => owner.kind === 'engine')).toBe(true)
    expect(report.driver.totalBytes).toBeGreaterThan(0)
  })

  it('moves blocks from the engine to the session and back, to the byte', async () => {
    const loaded = ledgerOf(engine)
    const before = engine.memory()
    const session = engine.createSession()
    expect(sessionBytes(engine.memory())).toBe(0)
    await session.generate('Once upon a time', { maxNewTokens: 100, ignoreEos: true }).result
    const held = engine.memory()
    expectConsistent(held)
    expect(held.kv.usedBlocks).toBe(4)
    expect(session.memory()).toMatchObject({
      id: session.id,
      blocks: 4,
      bytes: 4 * held.kv.blockBytes,
    })
    expect(held.allocatedBytes).toBe(before.allocatedBytes + held.kv.pages.mappedBytes)
    expect(held.kv.pages).toMatchObject({ used: 1, packed: 1 })

    session.dispose()
    expect(sessionBytes(engine.memory())).toBe(0)
    expect(engine.memory().sessions).toEqual([])
    await session[Symbol.asyncDispose]()
    await engine.compact()
    expect(ledgerOf(engine)).toEqual(loaded)
  })

  it('is exact in mid-stream', async () => {
    const loaded = ledgerOf(engine)
    const sessions = [...Array(6)].map(() => engine.createSession())
    const runs = sessions.map((session) =>
      session.generate('Tom', { maxNewTokens: 120, ignoreEos: true }),
    )
    await Promise.all(
      runs.map(async (run) => {
        for await (const _ of run) expectConsistent(engine.memory())
      }),
    )
    for (const session of sessions) {
      session.dispose()
      expect(sessionBytes(engine.memory(), session.id)).toBe(0)
      await session[Symbol.asyncDispose]()
    }
    await engine.compact()
    expect(ledgerOf(engine)).toEqual(loaded)
  })

  it('takes nothing more in steady state', async () => {
    using session = engine.createSession()
    await session.generate('Tom', { maxNewTokens: 50 }).result
    const counts = (): object =>
      Object.values(engine.memory().regions).map(({ allocations, frees }) => [allocations, frees])
    const before = counts()
    await session.generate('Once upon a time', { maxNewTokens: 200, temperature: 1 }).result
    await engine.logits(Array<number>(300).fill(7))
    expect(counts()).toEqual(before)
  })
})
