/** An engine's memory on a card: KV that moves, the audit, pages that cannot be mapped, others on the card. */
import { Engine, type EngineOptions, type Session } from '../../lib/index.js'
import { continuation, golden } from '../engine/sdk/support.js'
import { expectNothingLive } from '../helpers/nothing-live.js'
import { openMemory, testing } from '../helpers/native-testing.js'
import { fillDevice } from '../memory-cases/full-device.js'

const MiB = 2 ** 20

const load = (options: EngineOptions = {}): Promise<Engine> =>
  Engine.load(undefined, { device: 'cuda:0', memory: { kv: 256 * MiB }, ...options })

afterEach(expectNothingLive)

/** Goes on in every session with the golden text, `count` tokens more. */
async function expectGolden(
  engine: Engine,
  sessions: readonly Session[],
  from: number,
  count: number,
): Promise<void> {
  const story = golden[0]
  const prompt = engine.tokenizer!.encode(story.prompt)
  const all = [...prompt, ...continuation(story, prompt.length)]
  const ends = await Promise.all(
    sessions.map((session) => session.generate(all.slice(0, from), { maxNewTokens: count }).result),
  )
  for (const { tokens } of ends) expect(tokens).toEqual(all.slice(from, from + count))
}

test('sessions whose blocks moved together go on token for token', async () => {
  const engine = await load()
  const sessions = Array.from({ length: 12 }, () => engine.createSession())
  await expectGolden(engine, sessions, 10, 60)
  for (const session of sessions.splice(0, 6)) session.dispose()
  const before = engine.memory().kv.pages
  await engine.compact()
  const after = engine.memory().kv
  expect(after.pages.mapped).toBeLessThan(before.mapped)
  expect(after.pages.used).toBe(after.pages.packed)
  expect(after.compaction.moves).toBeGreaterThan(0)
  await expectGolden(engine, sessions, 70, 60)
  engine.check()
  engine.dispose()
})

test('plan, ledger and driver agree within 12 MB while sessions come and go', async () => {
  const engine = await load()
  for (let round = 0; round < 10; round++) {
    const sessions = Array.from({ length: 8 }, () => engine.createSession())
    const running = expectGolden(engine, sessions, 10, 40)
    const { audit } = engine.memory({ audit: true })
    expect(audit.regions).toMatchObject({ kv: { agrees: true }, pinned: { agrees: true } })
    expect(audit.underLimit).toBe(true)
    expect(Math.abs(audit.residualBytes)).toBeLessThanOrEqual(12e6)
    await running
    for (const session of sessions) session.dispose()
  }
  engine.dispose()
})

test('on a device that cannot map pages the tokens are the same', async () => {
  testing.allowPageMapping(false)
  try {
    const engine = await load({ memory: { kv: 64 * MiB } })
    const { kv } = engine.memory()
    expect(kv.pages.mapped * 2 * MiB).toBe(64 * MiB)
    await expectGolden(engine, [engine.createSession(), engine.createSession()], 10, 100)
    engine.check()
    engine.dispose()
  } finally {
    testing.allowPageMapping(true)
  }
})

test('when something else takes the card, requests wait or are refused by type, and all is well after it', async () => {
  const engine = await load({ memory: { kv: 2048 * MiB } })
  const other = openMemory('cuda:0')
  const giveBack = fillDevice(other, 'cuda:0', MiB)
  const starved = engine.createSession()
  const outcome = await starved.generate('Once upon a time', { maxNewTokens: 20 }).result.then(
    () => 'served',
    (error: unknown) => (error as { code: string }).code,
  )
  expect(['served', 'OCTAVO_OUT_OF_MEMORY']).toContain(outcome)
  engine.check()
  giveBack()
  await expectGolden(engine, [engine.createSession(), engine.createSession()], 10, 100)
  engine.check()
  engine.dispose()
  other.dispose()
})
