/** The embedded model on a CUDA device: the published story, and every byte given back. */
import { Engine, type MemoryReport } from '../../lib/index.js'
import { loadNative } from '../../lib/native.js'
import { continuation, golden, ledgerOf, sessionBytes } from '../engine/sdk/support.js'
import { expectNothingLive } from '../helpers/nothing-live.js'

let engine: Engine
beforeAll(async () => {
  engine = await Engine.load(undefined, { device: 'cuda:0', memory: { kv: 64 * 2 ** 20 } })
})
afterAll(() => {
  engine.dispose()
  expectNothingLive()
})

test.each(golden)('continues $prompt token for token as the reference', async (story) => {
  using session = engine.createSession()
  const prompt = engine.tokenizer!.encode(story.prompt)
  const expected = continuation(story, prompt.length)
  const { tokens } = await session.generate(story.prompt, { maxNewTokens: expected.length }).result
  expect(tokens).toEqual(expected)
})

test('sixteen sessions at once each get the tokens they get alone', async () => {
  const stories = await Promise.all(
    [...Array(16)].map(async () => {
      using session = engine.createSession()
      return (await session.generate('Once upon a time', { maxNewTokens: 200 }).result).tokens
    }),
  )
  for (const tokens of stories) expect(tokens).toEqual(golden[0].ids.slice(5, 205))
})

test('a session leaves nothing on the ledger, in mid-stream too', async () => {
  const loaded = ledgerOf(engine)
  const session = engine.createSession()
  const run = session.generate('Once upon a time', { maxNewTokens: 400, ignoreEos: true })
  for (let i = 0; i < 20; i++) await run.next()
  expect(sessionBytes(engine.memory())).toBeGreaterThan(0)
  session.dispose()
  expect(sessionBytes(engine.memory())).toBe(0)
  await session[Symbol.asyncDispose]()
  expect(ledgerOf(engine)).toEqual(loaded)
  engine.check()
})

test('break and abort cancel, and leave the session usable', async () => {
  using session = engine.createSession()
  const long = { maxNewTokens: 400, ignoreEos: true }
  for await (const _ of session.generate('Tom', long)) break
  const signal = AbortSignal.timeout(5)
  await expect(session.generate('Tom', { ...long, signal }).result).rejects.toMatchObject({
    name: 'TimeoutError',
  })
  const { tokens } = await session.generate('Once upon a time', { maxNewTokens: 10 }).result
  expect(tokens).toEqual(golden[0].ids.slice(5, 15))
})

test('what the allocator holds is what the driver lost', async () => {
  // By process where the driver tells: other processes take and give back meanwhile.
  const usedBytes = (): number => {
    const { processBytes, totalBytes, freeBytes } = loadNative().memoryUse('cuda:0')
    return processBytes ?? totalBytes - freeBytes
  }
  const figures: Record<string, number> = {}
  const note = (name: string, report: MemoryReport | null): void => {
    figures[`${name}: held`] = report?.allocatedBytes ?? 0
    figures[`${name}: driver used`] = usedBytes()
  }
  const load = (): Promise<Engine> =>
    Engine.load(undefined, { device: 'cuda:0', memory: { kv: 2 ** 30 }, maxSequences: 64 })
  const before = usedBytes()
  note('before load', null)
  const second = await load()
  const held = second.memory().allocatedBytes
  note('loaded', second.memory())
  // The driver hands memory out in pages of 2 MiB; each of our allocations may round up to one.
  const taken = usedBytes() - before
  const rounding = 2 * 2 ** 20 * second.memory().ledger.length
  expect(taken).toBeGreaterThanOrEqual(held - rounding)
  expect(taken).toBeLessThanOrEqual(held + rounding + 64 * 2 ** 20)
  second.dispose()
  note('disposed', null)
  console.table(figures)
  expect(Math.abs(usedBytes() - before)).toBeLessThanOrEqual(64 * 2 ** 20)
})
