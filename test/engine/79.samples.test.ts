/** Several samples of one prompt: computed once, held once, each with an end of its own. */
import type { NativeEngineOptions } from '../../lib/native.js'
import { story } from '../helpers/goldens.js'
import { blockBytes, TestEngine, type RequestOptions } from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close() // every one has had exactly one end
})

const prefix = { eviction: 'lru-2', share: 1, retentionMs: 0, correlatedUses: 0 } as const
const drawn = (prompt: number, samples = 1, seed = 40n): RequestOptions => ({
  prompt: story.slice(0, prompt),
  maxNewTokens: 40,
  temperature: 1,
  seed,
  samples,
})
const reasons = (runs: { finishes: { reason: string }[] }[]): (string | undefined)[] =>
  runs.map(({ finishes }) => finishes[0]?.reason)

test.each<[string, number, Partial<NativeEngineOptions>]>([
  ['a prompt that ends in a block', 50, {}],
  ['one that fills its blocks', 64, {}],
  ['one that has just begun a block', 65, {}],
  ['one of a token', 1, {}],
  ['one in chunks', 100, { maxBatchTokens: 32 }],
  ['with a prefix cache', 65, { prefix }],
  ['where they take turns', 65, { maxSequences: 2, kvBytes: 14 * blockBytes() }],
  ['optimistic, in little room', 65, { admission: 'optimistic', kvBytes: 14 * blockBytes() }],
])('sample i is what seed + i gives: %s', async (_, prompt, given) => {
  engine = await TestEngine.load({ ...given, testing: { checkSteps: 1 } })
  const alone = []
  for (let index = 0; index < 5; index++) {
    alone.push((await engine.fresh(drawn(prompt, 1, 40n + BigInt(index)))).tokens)
  }
  engine.native.clearPrefixCache()
  const session = engine.native.createSession()
  const samples = engine.startAll(session, drawn(prompt, 5))
  await Promise.all(samples.map(({ finish }) => finish))
  expect(samples.map(({ tokens }) => tokens)).toEqual(alone)
  expect(new Set(alone.map(String)).size).toBeGreaterThan(1)
  expect(engine.native.sessions().map(({ id }) => id)).toEqual([session])
  const next = await engine.run(session, { prompt: story.slice(0, prompt), maxNewTokens: 5 })
  expect(next.tokens).toEqual(story.slice(prompt, prompt + 5))
  await engine.native.disposeSession(session)
  engine.native.clearPrefixCache()
  expect(engine.native.report().blocksOwned).toBe(0)
})

test('samples that are preempted go on with the same tokens', async () => {
  const request = { ...drawn(17), maxNewTokens: 100 } // 8 blocks in the end, 2 when they begin
  const alone = []
  for (const admission of ['guaranteed', 'optimistic'] as const) {
    engine = await TestEngine.load({ admission, kvBytes: 8 * blockBytes() })
    const samples = engine.startAll(engine.native.createSession(), { ...request, samples: 4 })
    await Promise.all(samples.map(({ finish }) => finish))
    expect(engine.native.report().preemptions > 0).toBe(admission === 'optimistic')
    alone.push(samples.map(({ tokens }) => tokens))
    if (admission === 'guaranteed') await engine.close()
  }
  expect(alone[1]).toEqual(alone[0])
})

test('the blocks of the prompt are held once', async () => {
  engine = await TestEngine.load({ kvBytes: 16 * blockBytes() })
  const session = engine.native.createSession()
  const samples = engine.startAll(session, { ...drawn(65, 8), maxNewTokens: 8, credits: 1 })
  await Promise.all(samples.map((sample) => sample.produced(1)))
  const { blocksOwned, prefix: shared, sessions, running } = engine.native.report()
  expect({ running, blocksOwned, shared: shared.shared }).toEqual({
    running: 8, // each alone would need 5 of the 16 blocks
    blocksOwned: 4 + 8,
    shared: 4,
  })
  expect(sessions.map(({ blocks }) => blocks)).toEqual(Array(8).fill(5))
  expect(sessions.map(({ parent }) => parent)).toEqual([0, ...Array<number>(7).fill(session)])
  const bytes = sessions.reduce((sum, held) => sum + held.bytes, 0)
  expect(bytes).toBe(12 * blockBytes())
  expect(samples.slice(1).map(({ finishes }) => finishes)).toEqual(Array(7).fill([]))
  for (const { id } of samples) engine.native.grant(id, 100)
  const ends = await Promise.all(samples.map(({ finish }) => finish))
  expect(ends.map(({ cachedTokens }) => cachedTokens)).toEqual([0, ...Array<number>(7).fill(64)])
  expect(engine.native.report()).toMatchObject({ blocksOwned: 5, sessions: [{ id: session }] })
  await engine.native.disposeSession(session)
})

describe('an end before the prompt is computed', () => {
  const begin = async (testing = {}): Promise<[number, ReturnType<TestEngine['startAll']>]> => {
    engine = await TestEngine.load({ testing: { neverPlan: true, ...testing } })
    const session = engine.native.createSession()
    return [session, engine.startAll(session, { ...drawn(50, 4), credits: 0 })]
  }

  test('of the first is that of all', async () => {
    const [, samples] = await begin()
    engine.native.cancel(samples[0]!.id)
    await Promise.all(samples.map(({ finish }) => finish))
    expect(reasons(samples)).toEqual(Array(4).fill('cancelled'))
  })

  test('of another is its own', async () => {
    const [, samples] = await begin()
    engine.native.cancel(samples[2]!.id)
    await samples[2]!.finish
    expect(reasons(samples)).toEqual([undefined, undefined, 'cancelled', undefined])
    engine.native.cancel(samples[0]!.id)
    await Promise.all(samples.map(({ finish }) => finish))
  })

  test('by its session', async () => {
    const [session, samples] = await begin()
    await engine.native.disposeSession(session)
    await Promise.all(samples.map(({ finish }) => finish))
    expect(reasons(samples)).toEqual(Array(4).fill('cancelled'))
  })
})

describe('an end after it', () => {
  const begin = async (
    testing: NativeEngineOptions['testing'] = {},
    lease = {},
  ): Promise<[number, ReturnType<TestEngine['startAll']>]> => {
    engine = await TestEngine.load({ testing })
    const session = engine.native.createSession(lease)
    const samples = engine.startAll(session, { ...drawn(50, 4), credits: 2 })
    await Promise.all(samples.map((sample) => sample.produced(2)))
    return [session, samples]
  }

  test('of the first leaves the others, which keep the session busy', async () => {
    const [session, samples] = await begin()
    engine.native.cancel(samples[0]!.id)
    await samples[0]!.finish
    expect(refusal(() => engine.start(session)).message).toMatch(/already runs 3 more samples/)
    expect(() => engine.native.forkSession(session)).toThrow(/already runs/)
    for (const { id } of samples) engine.native.grant(id, 100)
    await Promise.all(samples.map(({ finish }) => finish))
    expect(reasons(samples)).toEqual(['cancelled', 'length', 'length', 'length'])
    expect((await engine.run(session, { maxNewTokens: 5 })).tokens).toEqual(story.slice(1, 6))
  })

  test('of the session is that of all, and nothing is held', async () => {
    const [session, samples] = await begin()
    await engine.native.disposeSession(session)
    await Promise.all(samples.map(({ finish }) => finish))
    expect(reasons(samples)).toEqual(Array(4).fill('cancelled'))
    expect(engine.native.report()).toMatchObject({ blocksOwned: 0, sessions: [] })
  })

  test('of its lease, too; which samples that run keep alive', async () => {
    const [session, samples] = await begin({ fakeClock: true }, { heartbeatMs: 100, idleMs: 10 })
    engine.native.cancel(samples[0]!.id)
    await samples[0]!.finish
    engine.native.advanceClock(299)
    await engine.fresh({ maxNewTokens: 2 })
    expect(engine.native.sessions().map(({ id }) => id)).toContain(session)
    engine.native.advanceClock(1)
    await Promise.all(samples.map(({ finish }) => finish))
    const codes = samples.map(({ finishes }) => finishes[0]!.code)
    expect(codes.slice(1)).toEqual(Array(3).fill('OCTAVO_LEASE_EXPIRED'))
    expect(engine.native.report().sessions).toEqual([])
  })

  test('of the device', async () => {
    engine = await TestEngine.load({ testing: { failStep: 6 } })
    const samples = engine.startAll(engine.native.createSession(), drawn(50, 4))
    await Promise.all(samples.map(({ finish }) => finish))
    expect(reasons(samples)).toEqual(Array(4).fill('failed'))
    await engine.native.disposeSession(1)
  })
})

test('numbers that cannot be are refused, and what a quota does not hold', async () => {
  engine = await TestEngine.load()
  const id = engine.native.createSession({ quotaMax: 7 * blockBytes() })
  for (const samples of [0, -1, 257]) {
    expect(() => engine.start(id, { samples })).toThrow(`samples are ${samples}; give 1 to 256`)
  }
  expect(() => engine.start(id, { samples: 2, score: true, maxNewTokens: 0 })).toThrow(
    /samples are 2; give 1 to 1/,
  )
  const within = { prompt: story.slice(0, 65), maxNewTokens: 8 }
  const runs = engine.startAll(id, { ...within, samples: 3 })
  await Promise.all(runs.map(({ finish }) => finish))
  expect(refusal(() => engine.start(id, { ...within, samples: 4 })).code).toBe(
    'OCTAVO_QUOTA_EXCEEDED',
  )
})
