/** Shared, kept, forked and recomputed KV on a CUDA device: the published story comes all the same. */
import { Engine, type EngineOptions } from '../../lib/index.js'
import { continuation, golden, ledgerOf } from '../engine/sdk/support.js'
import { expectNothingLive } from '../helpers/nothing-live.js'

const [story] = golden
const ids = (count: number): number[] => story.ids.slice(0, count)

let engine: Engine
afterEach(() => {
  engine.check()
  engine.dispose()
  expectNothingLive()
})

async function open(options: EngineOptions = {}): Promise<void> {
  const usual: EngineOptions = { device: 'cuda:0', memory: { kv: 64 * 2 ** 20 } }
  engine = await Engine.load(undefined, { ...usual, kv: { blockSize: 16 }, ...options })
}

test('a prompt that finds blocks of others goes on as the story does', async () => {
  await open({ prefixCache: true })
  const loaded = ledgerOf(engine)
  const found: number[] = []
  for (const count of [100, 120, 90, 150]) {
    await using session = engine.createSession()
    const { tokens, usage } = await session.generate(ids(count), { maxNewTokens: 40 }).result
    expect(tokens).toEqual(continuation(story, count).slice(0, 40))
    found.push(usage.cachedTokens)
  }
  expect(found).toEqual([0, 112, 80, 144])
  engine.clearPrefixCache()
  await engine.compact()
  expect(ledgerOf(engine)).toEqual(loaded)
})

test('sessions that compute the same at once hold it once', async () => {
  await open({ prefixCache: true })
  const sessions = [...Array(16)].map(() => engine.createSession())
  const runs = await Promise.all(
    sessions.map((session) => session.generate(ids(100), { maxNewTokens: 60 }).result),
  )
  for (const { tokens } of runs) expect(tokens).toEqual(continuation(story, 100).slice(0, 60))
  expect(engine.memory().kv).toMatchObject({ usedBlocks: 9 + 16, prefix: { sharedBlocks: 9 } })
  for (const session of sessions) session.dispose()
})

test('forks copy the block that they write into', async () => {
  await open()
  const session = engine.createSession()
  await session.generate(ids(40), { maxNewTokens: 1 }).result
  const all = [session, ...[...Array(7)].map(() => session.fork())]
  const runs = await Promise.all(
    all.map((each) => each.generate(ids(40), { maxNewTokens: 60 }).result),
  )
  for (const { tokens, usage } of runs) {
    expect(usage.cachedTokens).toBe(39)
    expect(tokens).toEqual(continuation(story, 40).slice(0, 60))
  }
  expect(engine.memory().kv.prefix.copiedBlocks).toBe(7)
  for (const each of all) each.dispose()
})

test('whom optimistic admission preempts is recomputed to the same tokens', async () => {
  const blockBytes = 5 * 2 * 4 * 8 * 4 * 16
  await open({ admission: 'optimistic', memory: { kv: 40 * blockBytes } })
  const runs = await Promise.all(
    [...Array(8)].map(async () => {
      await using session = engine.createSession()
      return await session.generate(ids(60), { maxNewTokens: 150 }).result
    }),
  )
  for (const { tokens } of runs) expect(tokens).toEqual(continuation(story, 60).slice(0, 150))
  expect(engine.memory().scheduler.preemptions).toBeGreaterThan(0)
})
