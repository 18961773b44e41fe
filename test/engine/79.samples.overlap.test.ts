/** Samples begin when the step with their prompt is booked; with overlap the next one is planned by then. */
import { story } from '../helpers/goldens.js'
import { blockBytes, endless, TestEngine } from '../helpers/native-engine.js'

let engine: TestEngine
afterEach(async () => {
  await engine.close() // every one has had exactly one end
})

test.each([
  [64, 4],
  [65, 5],
  [79, 5],
])(
  'of a prompt of %i tokens a waiting sample shares %i blocks, whatever the first writes',
  async (prompt, blocks) => {
    engine = await TestEngine.load({ overlap: true, maxSequences: 1 })
    const session = engine.native.createSession()
    const request = { prompt: story.slice(0, prompt), maxNewTokens: 60, credits: 0 }
    const [first, second] = engine.startAll(session, { ...request, samples: 2 })
    engine.native.grant(first!.id, 3)
    await first!.produced(3)
    engine.native.check()
    const waiting = engine.native.sessions().find(({ parent }) => parent === session)!
    expect(waiting).toMatchObject({ state: 'waiting', tokens: prompt, blocks })
    for (const { id } of [first!, second!]) engine.native.grant(id, 60)
    await Promise.all([first!.finish, second!.finish])
    expect(second!.tokens).toEqual(first!.tokens)
    expect(first!.tokens).toEqual(story.slice(prompt, prompt + 60))
    engine.native.check()
  },
)

test.each([2, 3, 4, 5])('step %i fails: one end each', async (failStep) => {
  engine = await TestEngine.load({ overlap: true, testing: { failStep } })
  const request = { prompt: story.slice(0, 50), maxNewTokens: 60, credits: 0, samples: 4 }
  const runs = engine.startAll(engine.native.createSession(), request)
  for (const { id } of runs) engine.native.grant(id, 60)
  await Promise.all(runs.map(({ finish }) => finish))
  for (const { finishes } of runs) {
    expect(finishes).toMatchObject([{ reason: 'failed', code: 'OCTAVO_DEVICE_FAILED' }])
  }
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
})

test('a session is disposed, and an engine, while samples run and wait with two steps in flight', async () => {
  engine = await TestEngine.loadEndless({
    overlap: true,
    maxSequences: 3,
    kvBytes: 2000 * blockBytes(),
  })
  const request = { maxNewTokens: endless - 1, samples: 5 }
  const sessions = [engine.native.createSession(), engine.native.createSession()] as const
  const disposed = engine.startAll(sessions[0], request)
  const others = engine.startAll(sessions[1], request)
  await disposed[1]!.produced(2)
  await engine.native.disposeSession(sessions[0])
  await Promise.all(disposed.map(({ finish }) => finish))
  await others[2]!.produced(2)
  expect(engine.native.sessions().map(({ parent }) => parent)).toEqual([
    0,
    ...Array(4).fill(sessions[1]),
  ])
  engine.native.check()
  engine.native.dispose()
  await Promise.all(others.map(({ finish }) => finish))
  const reasons = [...disposed, ...others].map(({ finishes }) => finishes[0]!.reason)
  expect(reasons).toEqual(Array(10).fill('cancelled'))
})
