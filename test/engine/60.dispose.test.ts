/** Disposal of sessions and engines: at once, twice, in mid-stream, and complete on return. */
import { setTimeout as pause } from 'node:timers/promises'
import { story } from '../helpers/goldens.js'
import { endless, native, TestEngine } from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'

describe('a session', () => {
  let engine: TestEngine
  beforeEach(async () => {
    engine = await TestEngine.loadEndless()
  })
  afterEach(async () => {
    engine.native.check()
    await engine.close()
  })

  test('in mid-step: its ledger line is zero on return, its blocks reusable at the fence', async () => {
    const session = engine.native.createSession()
    const running = engine.start(session, { prompt: story.slice(0, 100), maxNewTokens: endless })
    await running.produced(1)
    expect(engine.sessionBytes(session)).toBeGreaterThan(0)
    const reusable = engine.native.disposeSession(session)
    const { blocksTotal, blocksFree, blocksInFlight, sessions } = engine.native.report()
    expect(engine.sessionBytes(session)).toBe(0)
    expect(sessions).toEqual([])
    expect(blocksFree + blocksInFlight).toBe(blocksTotal)
    expect(blocksInFlight).toBeGreaterThan(0)
    await reusable
    expect(engine.native.report()).toMatchObject({
      blocksFree: blocksTotal,
      blocksInFlight: 0,
      running: 0,
    })
    expect(running.finishes).toMatchObject([{ reason: 'cancelled' }])
  })

  test('whose blocks go to another before the step is over does not disturb it', async () => {
    const other = engine.native.createSession()
    for (let round = 0; round < 8; round++) {
      const session = engine.native.createSession()
      const running = engine.start(session, { prompt: story.slice(0, 90), maxNewTokens: 50 })
      await running.produced(round % 3)
      void engine.native.disposeSession(session)
      const { tokens } = await engine.run(other, {
        prompt: story.slice(0, 60 + round),
        maxNewTokens: 5,
      })
      expect(tokens).toEqual(story.slice(60 + round, 65 + round))
      engine.native.check()
    }
  })

  test('twice, unknown, while it waits or idles', async () => {
    const idle = engine.native.createSession()
    await engine.run(idle, { maxNewTokens: 2 })
    const waiting = engine.native.createSession()
    const request = engine.start(waiting, { credits: 0 })
    await Promise.all(
      [idle, idle, waiting, waiting, 777].map((session) => engine.native.disposeSession(session)),
    )
    expect(request.finishes).toMatchObject([{ reason: 'cancelled', outputTokens: 0 }])
    expect(engine.native.report()).toMatchObject({ sessions: [], running: 0, waiting: 0 })
  })
})

describe('an engine', () => {
  test('in mid-stream: every request ends once, nothing is left', async () => {
    for (let round = 0; round < 20; round++) {
      const engine = await TestEngine.load({ maxSequences: 4, testing: { stepMicroseconds: 200 } })
      // Fewer credits than tokens: none ends by itself, however late the disposal comes.
      const runs = Array.from({ length: 8 }, () =>
        engine.start(engine.native.createSession(), { maxNewTokens: 200, credits: 199 }),
      )
      await runs[0]!.produced(round % 5)
      await engine.close()
      for (const { finishes, tokens } of runs) {
        expect(finishes).toMatchObject([{ reason: 'cancelled', outputTokens: tokens.length }])
        expect(tokens).toEqual(story.slice(1, tokens.length + 1))
      }
    }
  })

  test('without blocking: disposeAsync settles when all is gone', async () => {
    // Steps of a second: whoever waits for one is seen, however slow the machine.
    const engine = await TestEngine.load({ testing: { stepMicroseconds: 1_000_000 } })
    const running = engine.start(engine.native.createSession(), { maxNewTokens: 100 })
    await running.produced(1)
    const started = performance.now()
    const disposals = [engine.native.disposeAsync(), engine.native.disposeAsync()]
    expect(performance.now() - started).toBeLessThan(500)
    await Promise.all(disposals)
    expect(running.finishes).toMatchObject([{ reason: 'cancelled' }])
    expect(native.liveObjects().engines).toBe(0)
    await engine.native.disposeAsync()
    await engine.close()
  })

  test('synchronously while disposeAsync works', async () => {
    const engine = await TestEngine.load({ testing: { stepMicroseconds: 5000 } })
    engine.start(engine.native.createSession(), { maxNewTokens: 100 })
    const disposed = engine.native.disposeAsync()
    engine.native.dispose()
    expect(native.liveObjects().engines).toBe(0)
    await disposed
    await engine.close()
  })

  test('afterwards refuses all work and takes the rest calmly', async () => {
    const engine = await TestEngine.load()
    const session = engine.native.createSession()
    const { id } = await engine.run(session, { maxNewTokens: 3 })
    engine.native.dispose()
    engine.native.dispose()
    for (const call of [
      () => engine.native.createSession(),
      () => engine.start(session),
      () => engine.native.report(),
      () => engine.native.check(),
    ]) {
      expect(refusal(call).code).toBe('OCTAVO_DISPOSED')
    }
    engine.native.cancel(id)
    engine.native.grant(id, 1)
    await engine.native.disposeSession(session)
    await engine.native.disposeSession(999)
    await engine.close()
  })

  test('settles session disposals that were waiting for their fence', async () => {
    const engine = await TestEngine.load({ testing: { stepMicroseconds: 20_000 } })
    const session = engine.native.createSession()
    const running = engine.start(session, { maxNewTokens: 100 })
    await running.produced(1)
    const reusable = engine.native.disposeSession(session)
    engine.native.dispose()
    await reusable
    await engine.close()
  })

  test('from within its own event callback', async () => {
    const engine = await TestEngine.load()
    const running = engine.start(engine.native.createSession(), { maxNewTokens: 400, credits: 300 })
    const end = running.end.bind(running)
    const add = running.add.bind(running)
    running.add = (...token) => {
      add(...token)
      engine.native.dispose()
    }
    running.end = end
    await running.finish
    expect(running.finishes).toMatchObject([{ reason: 'cancelled' }])
    await engine.close()
  })

  test('a hundred loads and disposals keep the process where it was', async () => {
    const cycle = async (): Promise<void> => {
      const engine = await TestEngine.load()
      await engine.fresh({ maxNewTokens: 3 })
      await engine.close()
    }
    for (let round = 0; round < 20; round++) await cycle()
    const before = process.memoryUsage().rss
    for (let round = 0; round < 100; round++) await cycle()
    // One engine holds 20 MiB; leaking even one in four would show.
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20)
    await pause(1)
  })
})
