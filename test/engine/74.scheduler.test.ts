/** Who is served when, as the engine does it: priorities, places, admission that is guaranteed and that is not. */
import { story } from '../helpers/goldens.js'
import { blockBytes, endless, TestEngine, type Running } from '../helpers/native-engine.js'

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close()
})

const places = (): number[] => engine.native.report().sessions.map(({ place }) => place)

test('requests that wait tell their places, and are served in that order', async () => {
  engine = await TestEngine.loadEndless({ maxSequences: 1, kvBytes: 700 * blockBytes() })
  const holder = engine.start(engine.native.createSession(), { maxNewTokens: endless - 1 })
  await holder.produced(1)
  const runs = [0, -1, 3, 0].map((priority) =>
    engine.start(engine.native.createSession(), { priority, maxNewTokens: 5 }),
  )
  expect(places()).toEqual([0, 2, 4, 1, 3])
  engine.native.cancel(holder.id)
  const ends = await Promise.all(runs.map(({ finish }) => finish))
  expect(places()).toEqual([0, 0, 0, 0, 0])
  for (const { tokens } of runs) expect(tokens).toEqual(story.slice(1, 6))
  const [first, lowest, highest, second] = ends.map(({ timings }) => timings.admitted)
  const order = [highest!, first!, second!, lowest!]
  expect(order).toEqual([...order].sort((a, b) => a - b))
})

/** Requests that want far more than the pool has, all at once. */
async function crowd(): Promise<Running[]> {
  const runs = Array.from({ length: 6 }, (_, index) =>
    engine.start(engine.native.createSession(), {
      prompt: story.slice(0, 20 + index),
      maxNewTokens: 100,
      temperature: index % 2,
      seed: BigInt(index),
      frequencyPenalty: index % 2 === 0 ? 0 : 0.3,
    }),
  )
  await Promise.all(runs.map(({ finish }) => finish))
  return runs
}

test.each([
  ['alone', {}],
  [
    'with a prefix cache',
    { prefix: { eviction: 'lru-2', share: 1, retentionMs: 0, correlatedUses: 0 } as const },
  ],
])('optimistic admission recomputes whom it preempts, to the same tokens: %s', async (_, given) => {
  const tight = { kvBytes: 20 * blockBytes(), maxBatchTokens: 64, ...given }
  engine = await TestEngine.load(tight)
  const guaranteed = await crowd()
  expect(engine.native.report()).toMatchObject({ preemptions: 0 })
  await engine.close()
  engine = await TestEngine.load({ ...tight, admission: 'optimistic' })
  const optimistic = await crowd()
  expect(engine.native.report().preemptions).toBeGreaterThan(0)
  expect(optimistic.map(({ tokens }) => tokens)).toEqual(guaranteed.map(({ tokens }) => tokens))
  for (const { finishes } of optimistic) expect(finishes).toHaveLength(1)
})

test('a priority that is no 32-bit integer is refused', async () => {
  engine = await TestEngine.load()
  const session = engine.native.createSession()
  expect(() => engine.start(session, { priority: 0.5 })).toThrow(/request.priority is 0.5/)
  await expect(TestEngine.load({ admission: 'hopeful' as 'optimistic' })).rejects.toThrow(
    /options.admission is "hopeful": expected 'guaranteed' or 'optimistic'/,
  )
})
