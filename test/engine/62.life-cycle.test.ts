/** What ends by time or by quota, under a clock that stands still until the test moves it. */
import type { NativeSessionOptions, NativeStages } from '../../lib/native-session.js'
import { story } from '../helpers/goldens.js'
import { blockBytes, endless, TestEngine, type Running } from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'

const none: NativeStages = { queueMs: 0, inferenceMs: 0, postMs: 0 }

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close()
})

const open = (options = {}): Promise<TestEngine> =>
  TestEngine.loadEndless({ testing: { fakeClock: true, stepMicroseconds: 500 }, ...options })
const session = (options: NativeSessionOptions = {}): number => engine.native.createSession(options)
const info = (id: number) => engine.native.sessions().find((each) => each.id === id)

async function failure(running: Running): Promise<[string, string]> {
  const { reason, code, message } = await running.finish
  expect(reason).toBe('failed')
  return [code, message]
}

/** What the ledger says of sessions. */
const heldBytes = (): number =>
  engine.native
    .report()
    .lines.filter(({ ownerKind }) => ownerKind === 'session')
    .reduce((sum, { bytes }) => sum + bytes, 0)

describe('stages', () => {
  test('a request that waits too long is stopped, and what runs goes on', async () => {
    engine = await open({ maxSequences: 1, kvBytes: 700 * blockBytes() })
    const holder = engine.start(session(), { maxNewTokens: endless - 1 })
    await holder.produced(1)
    const id = session({ stages: { ...none, queueMs: 1000 } })
    const waiting = engine.start(id, { maxNewTokens: 5 })
    engine.native.advanceClock(999)
    expect(info(id)).toMatchObject({ stage: 'queue', requestAgeMs: 999, place: 1 })
    engine.native.advanceClock(1)
    const [code, message] = await failure(waiting)
    expect(code).toBe('OCTAVO_TIMED_OUT')
    expect(message).toMatch(/more than the 1000 ms that it may in the stage 'queue'/)
    expect(info(id)).toMatchObject({ stage: 'idle', requestAgeMs: 0, ageMs: 1000 })
    expect(holder.finishes).toHaveLength(0)
    engine.native.cancel(holder.id)
    await holder.finish
  })

  test('a request that takes too long is stopped, with what it has made, and its blocks are free', async () => {
    engine = await open({ kvBytes: 700 * blockBytes() })
    const id = session({ stages: { ...none, inferenceMs: 4000, queueMs: 1 } })
    const running = engine.start(id, { maxNewTokens: endless - 1 })
    await running.produced(40)
    expect(info(id)).toMatchObject({ stage: 'inference' })
    engine.native.advanceClock(4000)
    expect((await failure(running))[1]).toMatch(/4000 ms .* 'inference'/)
    expect(running.tokens.length).toBe(running.finishes[0]!.outputTokens)
    await engine.native.disposeSession(id)
    expect(heldBytes()).toBe(0)
  })

  test('a caller who reads nothing is stopped; reading in between begins anew', async () => {
    engine = await open()
    const id = session({ stages: { ...none, postMs: 500, inferenceMs: 10_000 } })
    const running = engine.start(id, { maxNewTokens: 100, credits: 3 })
    await running.produced(3)
    for (let turn = 1; turn <= 5; turn++) {
      expect(info(id)).toMatchObject({ stage: 'post' })
      engine.native.advanceClock(499)
      engine.native.grant(running.id, 2)
      await running.produced(3 + 2 * turn)
    }
    expect(running.finishes).toHaveLength(0)
    engine.native.advanceClock(500)
    expect((await failure(running))[1]).toMatch(/500 ms .* 'post'.*read what it makes sooner/)
    expect(running.tokens).toEqual(story.slice(1, 14))
  })

  test('a request’s own limits stand in for the session’s; without any, time does nothing', async () => {
    engine = await open()
    const id = session({ stages: { ...none, postMs: 100 } })
    const running = engine.start(id, { maxNewTokens: 5, credits: 1, stages: none })
    await running.produced(1)
    engine.native.advanceClock(1e9)
    engine.native.grant(running.id, 10)
    expect(await running.finish).toMatchObject({ reason: 'length' })
    const limited = engine.start(session(), {
      maxNewTokens: 5,
      credits: 1,
      stages: { ...none, postMs: 7 },
    })
    await limited.produced(1)
    engine.native.advanceClock(7)
    expect((await failure(limited))[0]).toBe('OCTAVO_TIMED_OUT')
  })

  test('a limit that comes after the end does nothing', async () => {
    engine = await open()
    const id = session({ stages: { queueMs: 10, inferenceMs: 10, postMs: 10 } })
    const run = await engine.run(id, { maxNewTokens: 3 })
    engine.native.advanceClock(1000)
    await engine.run(session(), { maxNewTokens: 3 })
    expect(run.finishes).toHaveLength(1)
  })
})

describe('leases', () => {
  const lease = { heartbeatMs: 100, idleMs: 250 }

  test('an idle session that is not heard of is reclaimed, and its heartbeat refused', async () => {
    engine = await open()
    const id = session(lease)
    await engine.run(id, { maxNewTokens: 20 })
    expect(info(id)).toMatchObject({ heartbeatMs: 100, leaseMs: 250 })
    engine.native.advanceClock(200)
    engine.native.heartbeat(id)
    engine.native.advanceClock(249)
    expect(info(id)).toMatchObject({ leaseMs: 1 })
    engine.native.advanceClock(1)
    await engine.run(session(), { maxNewTokens: 1 }) // the engine has looked around since
    expect(info(id)).toBeUndefined()
    for (const call of [
      () => engine.native.heartbeat(id),
      () => engine.start(id),
      () => engine.native.forkSession(id),
    ]) {
      const { code, message } = refusal(call)
      expect(code).toBe('OCTAVO_LEASE_EXPIRED')
      expect(message).toMatch(new RegExp(`session ${id} ran out`))
    }
    await engine.native.disposeSession(id)
    engine.native.check()
  })

  test('three missed while a request runs end it, once', async () => {
    engine = await open({ kvBytes: 700 * blockBytes() })
    const id = session(lease)
    const running = engine.start(id, { maxNewTokens: endless - 1 })
    await running.produced(1)
    engine.native.advanceClock(299)
    await running.produced(running.tokens.length + 2)
    expect(running.finishes).toHaveLength(0)
    engine.native.advanceClock(1)
    expect((await failure(running))[0]).toBe('OCTAVO_LEASE_EXPIRED')
    expect(info(id)).toBeUndefined()
    expect(heldBytes()).toBe(0)
  })

  test('the time without a request counts from its end', async () => {
    engine = await open()
    const id = session(lease)
    const running = engine.start(id, { maxNewTokens: 3, credits: 1 })
    await running.produced(1)
    engine.native.advanceClock(280)
    engine.native.grant(running.id, 5)
    await running.finish
    expect(info(id)).toMatchObject({ leaseMs: 250 })
  })

  test('a fork has a lease of its own', async () => {
    engine = await open()
    const id = session(lease)
    await engine.run(id, { maxNewTokens: 20 })
    engine.native.advanceClock(200)
    const fork = engine.native.forkSession(id)
    engine.native.advanceClock(50)
    await engine.run(session(), { maxNewTokens: 1 })
    expect(info(id)).toBeUndefined()
    expect(info(fork)).toMatchObject({ leaseMs: 200, tokens: 20 })
  })
})

describe('quotas', () => {
  test('a request that its maximum can never hold is refused with both numbers', async () => {
    engine = await open()
    const id = session({ quotaBase: blockBytes(), quotaMax: 4 * blockBytes() })
    expect(info(id)).toMatchObject({ quotaBase: blockBytes(), quotaMax: 4 * blockBytes() })
    await engine.run(id, { prompt: story.slice(0, 50), maxNewTokens: 14 })
    const { code, message } = refusal(() =>
      engine.start(id, { prompt: story.slice(0, 50), maxNewTokens: 15 }),
    )
    expect(code).toBe('OCTAVO_QUOTA_EXCEEDED')
    expect(message).toMatch(
      new RegExp(`need ${5 * blockBytes()} bytes .* is ${4 * blockBytes()} bytes`),
    )
    await engine.run(session(), { prompt: story.slice(0, 50), maxNewTokens: 15 })
  })

  test('what idle sessions hold beyond their base goes before the base of any', async () => {
    engine = await open({ kvBytes: 16 * blockBytes(), eviction: 'lru' })
    const based = session({ quotaBase: 3 * blockBytes(), quotaMax: 16 * blockBytes() })
    const other = session()
    await engine.run(based, { prompt: story.slice(0, 100), maxNewTokens: 1 }) // used before the other
    await engine.run(other, { prompt: story.slice(0, 100), maxNewTokens: 1 })
    const tokens = (): (number | undefined)[] => [info(based)?.tokens, info(other)?.tokens]
    const wants = async (prompt: number, maxNewTokens: number): Promise<void> => {
      const taker = session()
      await engine.run(taker, { prompt: story.slice(0, prompt), maxNewTokens })
      await engine.native.disposeSession(taker)
    }
    await wants(70, 1) // 5 blocks, 2 are free
    expect(tokens()).toEqual([64, 100])
    await wants(150, 1) // 10 blocks: 5 are free, and the other has 7
    expect(tokens()).toEqual([48, 48])
    await wants(250, 6) // all there is
    expect(tokens()).toEqual([0, 0])
  })
})
