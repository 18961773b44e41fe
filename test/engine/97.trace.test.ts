/** The trace of a native engine: leaks planted and found, levels in mid-run. */
import type { NativeTraceOptions } from '../../lib/native-trace.js'
import { buildLeaks, buildSnapshot } from '../../lib/trace/build.js'
import { TestEngine } from '../helpers/native-engine.js'
import { expectNothingLive } from '../helpers/nothing-live.js'

afterEach(expectNothingLive)

const traced = (level: number): NativeTraceOptions => ({
  level,
  ringEvents: 1000,
  sampleBytes: 2 ** 20,
  spillBytes: 0,
})

const functionsOf = (stack: { function: string | null }[]): string =>
  stack.map((frame) => frame.function).join('\n')

test('a planted leak is found when its session ends, with owner, age and the function that made it', async () => {
  const engine = await TestEngine.load({ trace: traced(2), testing: { leakBytes: 5000 } })
  const [held, ended] = [engine.native.createSession(), engine.native.createSession()]
  expect(engine.native.leaks().leaks).toEqual([])
  await engine.run(ended, { maxNewTokens: 3 })
  await engine.native.disposeSession(ended)
  const { leaks, bytes } = buildLeaks(engine.native.leaks())
  expect(leaks).toMatchObject([
    {
      region: 'workspace',
      owner: { kind: 'session', id: ended },
      tag: 'planted',
      bytes: 5120,
      count: 1,
    },
  ])
  expect(bytes).toBe(5120)
  const [{ stack, heldMs, endedMs, address }] = leaks as [(typeof leaks)[0]]
  expect(functionsOf(stack)).toMatch(/Engine::State::plantLeak/)
  expect(heldMs!).toBeGreaterThanOrEqual(endedMs!)
  expect(address).toBeGreaterThan(0)
  expect(held).not.toBe(ended)

  // What is left at the end is told too, and given back: it was ours.
  engine.native.dispose()
  await Promise.all(engine.requests.map(({ finish }) => finish))
  expect(() => engine.native.check()).toThrow(
    expect.objectContaining({
      code: 'OCTAVO_INTERNAL',
      message: expect.stringMatching(
        /still held .*workspace \/ session \d \/ planted 5120 bytes.*session \d has 5120 bytes of planted allocated by .*plantLeak/s,
      ) as string,
    }),
  )
})

test('the ledger finds the same leak at level 0', async () => {
  const engine = await TestEngine.load({ testing: { leakBytes: 600 } })
  const session = engine.native.createSession()
  await engine.native.disposeSession(session)
  expect(buildLeaks(engine.native.leaks()).leaks).toMatchObject([
    {
      owner: { kind: 'session', id: session },
      bytes: 1024,
      address: null,
      heldMs: null,
      stack: [],
    },
  ])
  engine.native.dispose()
})

test('no request and no session leaves anything, whatever ends it', async () => {
  const engine = await TestEngine.load({ trace: traced(2), testing: { stepMicroseconds: 300 } })
  const sessions = Array.from({ length: 6 }, () => engine.native.createSession())
  const runs = sessions.map((session) => engine.start(session, { maxNewTokens: 60 }))
  await runs[0]!.produced(5)
  engine.native.cancel(runs[1]!.id)
  void engine.native.disposeSession(sessions[2]!)
  expect(engine.native.leaks().leaks).toEqual([])
  await Promise.all(runs.map(({ finish }) => finish))
  await Promise.all(sessions.map((session) => engine.native.disposeSession(session)))
  const graphs = engine.native.graphs().buckets.length
  expect(engine.native.leaks()).toMatchObject({ leaks: [], graphs })
  const { trace } = engine.native.snapshot()
  expect(trace.holdings.every(({ ownerKind }) => ownerKind === 'engine')).toBe(true)
  await engine.close()
})

test('levels change while requests run, and their tokens are the same', async () => {
  const engine = await TestEngine.load({ trace: traced(0), testing: { stepMicroseconds: 200 } })
  const plain = await engine.fresh({ maxNewTokens: 80 })
  const session = engine.native.createSession()
  const running = engine.start(session, { maxNewTokens: 80 })
  for (let level = 0; running.finishes.length === 0; level++) {
    engine.native.setTraceLevel(level % 4)
    const snapshot = buildSnapshot('cpu', engine.native.snapshot(), new Date())
    expect(snapshot.trace.level).toBe(level % 4)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(running.tokens).toEqual(plain.tokens)
  await engine.native.disposeSession(session)
  engine.native.check()
  await engine.close()
})
