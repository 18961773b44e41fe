/** engine.memory({ audit: true }) under traffic: on the CPU plan, ledger and device agree to the byte. */
import type { Engine, MemoryAudit } from '../../../lib/index.js'
import { SeededRandom } from '../../helpers/seeded-random.js'
import { expectNothingLive, loadStories } from './support.js'

let engine: Engine
beforeAll(async () => {
  engine = await loadStories({ memory: { limit: 64 * 2 ** 20, kv: 4 * 2 ** 20 } })
})
afterAll(() => {
  engine.dispose()
  expectNothingLive()
})

function expectExact(audit: MemoryAudit): void {
  expect(audit).toMatchObject({
    verdict: 'exact',
    residualBytes: 0,
    source: 'process',
    underLimit: true,
  })
  expect(audit.driverTime).toBeGreaterThanOrEqual(audit.ledgerTime)
  expect(audit.driverBytes).toBe(audit.deviceBytes + audit.contextBytes)
  for (const [name, region] of Object.entries(audit.regions)) {
    expect({ name, ...region }).toMatchObject({ name, agrees: true })
  }
}

it('is null unless asked for', () => {
  expect(engine.memory().audit).toBeNull()
  expect(engine.memory({}).audit).toBeNull()
  expect(engine.memory({ audit: false }).audit).toBeNull()
})

it('finds after a load what was planned', () => {
  const { audit, regions } = engine.memory({ audit: true })
  expectExact(audit)
  const plan = engine.plan()
  for (const [name, { plannedBytes, heldBytes }] of Object.entries(audit.regions)) {
    expect(plannedBytes).toBe(plan.regions[name as keyof typeof plan.regions])
    expect(heldBytes).toBe(regions[name as keyof typeof regions].allocatedBytes)
  }
  expect(audit.limitBytes).toBe(64 * 2 ** 20)
})

it('is exact while sessions come, go and abort', async () => {
  const random = new SeededRandom(5)
  const traffic = async (): Promise<void> => {
    for (let round = 0; round < 6; round++) {
      using session = engine.createSession()
      const run = session.generate('Once upon a time', {
        maxNewTokens: random.between(1, 60),
        ignoreEos: true,
      })
      let left = random.next() < 0.5 ? random.between(1, 10) : Infinity
      for await (const _ of run) {
        expectExact(engine.memory({ audit: true }).audit)
        if (--left <= 0) break
      }
    }
  }
  await Promise.all(Array.from({ length: 5 }, traffic))
  expectExact(engine.memory({ audit: true }).audit)
})

it('refuses options that are none, and a disposed engine', async () => {
  expect(() => engine.memory({ audits: true } as never)).toThrow(/did you mean audit/)
  expect(() => engine.memory({ audit: 1 } as never)).toThrow(/audit is 1/)
  const other = await loadStories()
  other.dispose()
  expect(() => other.memory({ audit: true })).toThrow(
    expect.objectContaining({ code: 'OCTAVO_DISPOSED' }),
  )
})
