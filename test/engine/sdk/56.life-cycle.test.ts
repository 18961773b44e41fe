/** Quotas, limits of stages and leases, as users of the SDK meet them. */
import { setTimeout } from 'node:timers/promises'
import type { Engine, SessionOptions } from '../../../lib/index.js'
import { loadStories, sessionBytes } from './support.js'

const MiB = 2 ** 20
const long = { maxNewTokens: 400, ignoreEos: true }

let engine: Engine
beforeEach(async () => {
  engine = await loadStories()
})
afterEach(() => {
  engine.check()
  engine.dispose()
})

const code = (name: string) => expect.objectContaining({ code: name })

test('sessions are listed with what they hold and may', async () => {
  const plain = engine.createSession()
  const bound = engine.createSession({
    tenant: 'a',
    quota: true,
    timeouts: 'short',
    heartbeat: true,
  })
  await plain.generate([1], { maxNewTokens: 40 }).result
  const [first, second] = engine.sessions()
  expect(first).toMatchObject({
    id: plain.id,
    tenant: '',
    stage: 'idle',
    requestAgeMs: null,
    place: 0,
    tokens: 40,
    quota: null,
    lease: null,
    bytes: sessionBytes(engine.memory(), plain.id),
  })
  expect(second).toMatchObject({
    id: bound.id,
    tenant: 'a',
    bytes: 0,
    quota: { base: 512 * MiB, max: 2048 * MiB },
    lease: { intervalMs: 15_000 },
  })
  expect(first!.ageMs).toBeGreaterThanOrEqual(second!.ageMs)
  expect(second!.lease!.expiresInMs).toBeLessThanOrEqual(30_000)
  const run = plain.generate([1], long)
  await run.next()
  expect(engine.sessions()[0]!.requestAgeMs).toBeGreaterThan(0)
  await run.cancel()
})

test('a limit ends an iteration and a result with OCTAVO_TIMED_OUT, and leaves the session usable', async () => {
  using session = engine.createSession({ timeouts: { inferenceMs: 1 } })
  await expect(session.generate([1], long).result).rejects.toEqual(code('OCTAVO_TIMED_OUT'))
  const drain = async (): Promise<void> => {
    for await (const _ of session.generate([1], long));
  }
  await expect(drain()).rejects.toEqual(code('OCTAVO_TIMED_OUT'))
  const { finishReason } = await session.generate([1], { maxNewTokens: 3, timeouts: {} }).result
  expect(finishReason).toBe('length')
})

test('a session that is not heard of is gone, for its handle too', async () => {
  const session = engine.createSession({ heartbeat: { intervalMs: 1, idleMs: 2 } })
  while (engine.sessions().length > 0) await setTimeout(1)
  expect(() => session.heartbeat()).toThrow(code('OCTAVO_LEASE_EXPIRED'))
  await expect(session.generate([1]).result).rejects.toEqual(code('OCTAVO_LEASE_EXPIRED'))
  expect(sessionBytes(engine.memory())).toBe(0)
  await session[Symbol.asyncDispose]()
  const other = engine.createSession()
  other.heartbeat() // without a lease it does nothing
  expect(engine.sessions()).toHaveLength(1)
})

test('a quota refuses with both numbers, before anything is begun', async () => {
  using session = engine.createSession({ quota: { max: 65536 } })
  const refused = session.generate([1], long).result
  await expect(refused).rejects.toThrow(/need \d+ bytes of KV; the quota of session \d+ is 65536/)
  expect(session.memory()).toMatchObject({ blocks: 0, state: 'idle' })
  await session.generate([1], { maxNewTokens: 5 }).result
})

test.each([
  [{ tenant: '' }, /tenant is ""; it must be a string that is not empty/],
  [{ tenant: 'a\ud800' }, /tenant is "a\\ud800"; it must be a string .* no lone surrogates/],
  [{ quota: new Map() }, /quota is an object \(Map\)/],
  [{ quota: 5 }, /quota is 5; it must be true, false or \{ base, max \}/],
  [{ quota: { base: 1 } }, /quota.max is undefined/],
  [{ quota: { base: 10, max: 5 } }, /quota.base is 10; it must be at most quota.max, 5/],
  [{ timeouts: 'long' }, /timeouts is "long"; it must be 'short' or/],
  [{ timeouts: { queueMs: 0 } }, /timeouts.queueMs is 0/],
  [{ timeouts: { queue: 5 } }, /unknown option timeouts.queue; did you mean timeouts.queueMs/],
  [{ heartbeat: {} }, /heartbeat.intervalMs is undefined/],
  [{ heartbeat: 15 }, /heartbeat is 15; it must be true, false or/],
])('%j is refused by name', (options, message) => {
  expect(() => engine.createSession(options as SessionOptions)).toThrow(message)
})
