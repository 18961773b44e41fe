/** Prompts that begin alike share KV blocks, and no token or probability differs for it. */
import type { NativePrefixOptions } from '../../lib/native.js'
import { story } from '../helpers/goldens.js'
import { blockBytes, TestEngine, type Running } from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'

const prefix: NativePrefixOptions = {
  eviction: 'lru-2',
  share: 1,
  retentionMs: 0,
  correlatedUses: 0,
}

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close()
})

const cached = ({ finishes }: Running): number => finishes[0]!.cachedTokens
const prompt = (tokens: number): number[] => story.slice(0, tokens)

/** Whose the blocks are: the ledger's lines, in blocks. */
function owners(): Record<string, number> {
  const { lines } = engine.native.report()
  const held = lines.filter(({ tag }) => tag === 'kv.blocks' || tag === 'kv.cached')
  return Object.fromEntries(held.map((line) => [`${line.ownerKind} ${line.ownerId}`, line.count]))
}

test('a prompt takes the full blocks of a session that ended', async () => {
  engine = await TestEngine.load({ prefix })
  const first = engine.native.createSession()
  await engine.run(first, { prompt: prompt(100), maxNewTokens: 20 })
  expect(owners()).toEqual({ 'session 1': 8 }) // 119 tokens; the last of 120 is not computed
  await engine.native.disposeSession(first)
  expect(owners()).toEqual({ 'engine 0': 7 })
  const second = engine.native.createSession()
  const run = await engine.run(second, { prompt: prompt(110), maxNewTokens: 40 })
  expect(cached(run)).toBe(96)
  expect(run.tokens).toEqual(story.slice(110, 150))
  expect(owners()).toEqual({ 'session 2': 10 }) // the block of tokens 96 … 111 was there too
  expect(engine.native.report()).toMatchObject({ blocksOwned: 10, prefix: { merged: 1 } })
})

test('a prompt of whole blocks leaves one of them to be computed', async () => {
  engine = await TestEngine.load({ prefix })
  await engine.fresh({ prompt: prompt(96), maxNewTokens: 1 })
  const again = await engine.fresh({ prompt: prompt(96), maxNewTokens: 4 })
  expect(cached(again)).toBe(80)
  expect(again.tokens).toEqual(story.slice(96, 100))
})

test('sessions that run at once share what they compute alike, each block on one line', async () => {
  engine = await TestEngine.load({ prefix })
  const sessions = [1, 2, 3].map(() => engine.native.createSession())
  const runs = await Promise.all(
    sessions.map((id) => engine.run(id, { prompt: prompt(70), maxNewTokens: 30 })),
  )
  for (const { tokens } of runs) expect(tokens).toEqual(story.slice(70, 100))
  const { prefix: report, sessions: held, blocksOwned } = engine.native.report()
  expect(report).toMatchObject({ blocks: 6, shared: 6, cached: 0 })
  // Found at the start, or computed and given up again, as the three happened to begin.
  expect(report.hitTokens / 16 + report.merged).toBe(12)
  expect(owners()).toEqual({ 'session 1': 7, 'session 2': 1, 'session 3': 1 })
  expect(blocksOwned).toBe(9)
  expect(held.map(({ blocks, blocksOfOthers }) => [blocks, blocksOfOthers])).toEqual([
    [7, 0],
    [7, 6],
    [7, 6],
  ])
  await engine.native.disposeSession(1)
  expect(owners()).toEqual({ 'session 2': 7, 'session 3': 1 })
})

test('tenants find their own alone', async () => {
  engine = await TestEngine.load({ prefix })
  const run = async (tenant: string): Promise<number> => {
    const session = engine.native.createSession({ tenant })
    const running = await engine.run(session, { prompt: prompt(60), maxNewTokens: 5 })
    expect(running.tokens).toEqual(story.slice(60, 65))
    await engine.native.disposeSession(session)
    return cached(running)
  }
  expect([await run('a'), await run('b'), await run('a'), await run(''), await run('b')]).toEqual([
    0, 0, 48, 0, 48,
  ])
})

test('the same prompts in the same order: the same tokens and probabilities, bit for bit', async () => {
  const made: { tokens: number[]; logprobs: number[]; top: number[][] }[][] = []
  for (const options of [{}, { prefix }]) {
    engine = await TestEngine.load({ ...options, maxBatchTokens: 24 })
    const runs = []
    for (let turn = 0; turn < 12; turn++) {
      const options = { prompt: prompt(20 + 9 * turn), maxNewTokens: 12, topLogprobs: 20 }
      const { tokens, logprobs, top } = await engine.fresh({
        ...options,
        temperature: turn % 2,
        seed: 3n,
      })
      runs.push({ tokens, logprobs, top: top.map((each) => [...each!.logprobs]) })
    }
    const { hitTokens } = engine.native.report().prefix
    expect(hitTokens > 0).toBe('prefix' in options)
    made.push(runs)
    if (made.length === 1) await engine.close()
  }
  expect(made[1]).toEqual(made[0])
})

test('a score request computes every position, and leaves nothing to be found', async () => {
  engine = await TestEngine.load({ prefix })
  const session = engine.native.createSession()
  await engine.run(session, { prompt: prompt(64), score: true, maxNewTokens: 0 })
  expect(engine.native.report().prefix).toMatchObject({ blocks: 0, queries: 0 })
  await engine.native.disposeSession(session)
  expect(owners()).toEqual({})
  await engine.fresh({ prompt: prompt(64), maxNewTokens: 1 })
  const [plain, found] = await Promise.all(
    [1, 2].map(() => engine.fresh({ prompt: prompt(64), score: true, maxNewTokens: 0 })),
  )
  expect([cached(plain!), cached(found!)]).toEqual([0, 0])
})

test('kept blocks give way to whoever is admitted', async () => {
  engine = await TestEngine.load({ kvBytes: 12 * blockBytes(), prefix })
  await engine.fresh({ prompt: prompt(100), maxNewTokens: 1 })
  expect(owners()).toEqual({ 'engine 0': 6 })
  const other = Array.from({ length: 120 }, (_, index) => 3 + ((index * 7) % 500))
  await engine.fresh({ prompt: other, maxNewTokens: 60 })
  const report = engine.native.report()
  expect(report.prefix.evicted).toBeGreaterThanOrEqual(5)
  expect(report.blocksFree + report.prefix.cached).toBe(12)
  expect(cached(await engine.fresh({ prompt: prompt(100), maxNewTokens: 1 }))).toBeLessThan(96)
})

test('a hot prefix outlives a run of prompts that come once', async () => {
  engine = await TestEngine.load({ kvBytes: 24 * blockBytes(), prefix })
  for (let turn = 0; turn < 2; turn++) await engine.fresh({ prompt: prompt(50), maxNewTokens: 1 })
  for (let turn = 0; turn < 20; turn++) {
    const once = Array.from({ length: 90 }, (_, index) => 3 + ((index * 7 + turn * 31) % 500))
    await engine.fresh({ prompt: once, maxNewTokens: 1 })
  }
  expect(cached(await engine.fresh({ prompt: prompt(50), maxNewTokens: 1 }))).toBe(48)
})

test('no more than the share is kept', async () => {
  engine = await TestEngine.load({ kvBytes: 20 * blockBytes(), prefix: { ...prefix, share: 0.3 } })
  await engine.fresh({ prompt: prompt(200), maxNewTokens: 1 })
  expect(owners()).toEqual({ 'engine 0': 6 })
  expect(cached(await engine.fresh({ prompt: prompt(200), maxNewTokens: 1 }))).toBe(96)
})

test.each([
  ['with the cache', { prefix }],
  ['without', {}],
])('a fork shares every block until one of them writes: %s', async (_, options) => {
  engine = await TestEngine.load(options)
  const session = engine.native.createSession()
  await engine.run(session, { prompt: prompt(40), maxNewTokens: 1 })
  const forks = [1, 2].map(() => engine.native.forkSession(session))
  expect(owners()).toEqual({ 'session 1': 3 })
  engine.native.check()
  const all = [session, ...forks]
  const runs = await Promise.all(
    all.map((id, index) =>
      engine.run(id, { prompt: prompt(40), maxNewTokens: 30, temperature: index, seed: 9n }),
    ),
  )
  expect(runs.map(cached)).toEqual([39, 39, 39])
  expect(runs[0]!.tokens).toEqual(story.slice(40, 70))
  expect(engine.native.report().prefix.copied).toBe(2)
  for (const [index, { tokens }] of runs.entries()) {
    const sampling = { temperature: index, seed: 9n }
    const alone = await engine.fresh({ prompt: prompt(40), maxNewTokens: 30, ...sampling })
    expect(tokens).toEqual(alone.tokens)
  }
  for (const id of all) await engine.native.disposeSession(id)
  engine.native.clearPrefixCache()
  expect(owners()).toEqual({})
  expect(engine.native.report().blocksFree).toBe(engine.native.report().blocksTotal)
})

test('a fork outlives what it was forked from, and a busy session is not forked', async () => {
  engine = await TestEngine.load({ prefix })
  const session = engine.native.createSession()
  const running = engine.start(session, { prompt: prompt(40), maxNewTokens: 20, credits: 0 })
  expect(refusal(() => engine.native.forkSession(session)).code).toBe('OCTAVO_SESSION_BUSY')
  engine.native.grant(running.id, 20)
  await running.finish
  const fork = engine.native.forkSession(session)
  await engine.native.disposeSession(session)
  expect(owners()).toEqual({ [`session ${fork}`]: 4 })
  const run = await engine.run(fork, { prompt: prompt(60), maxNewTokens: 10 })
  expect(cached(run)).toBe(59)
  expect(run.tokens).toEqual(story.slice(60, 70))
  expect(refusal(() => engine.native.forkSession(session)).code).toBe('OCTAVO_DISPOSED')
})

test('a turn that leaves the conversation does not write into what others hold', async () => {
  engine = await TestEngine.load({ prefix })
  const [one, two] = [engine.native.createSession(), engine.native.createSession()]
  await engine.run(one, { prompt: prompt(64), maxNewTokens: 1 })
  await engine.run(two, { prompt: prompt(70), maxNewTokens: 1 })
  const other = [...prompt(40), 5, 6, 7]
  const turned = await engine.run(two, { prompt: other, maxNewTokens: 10 })
  expect(cached(turned)).toBe(40)
  expect(engine.native.report().prefix.copied).toBe(1)
  expect(turned.tokens).toEqual((await engine.fresh({ prompt: other, maxNewTokens: 10 })).tokens)
  const back = await engine.run(one, { prompt: prompt(80), maxNewTokens: 20 })
  expect(back.tokens).toEqual(story.slice(80, 100))
})

test('blocks that are shared or kept move with the others', async () => {
  engine = await TestEngine.load({ kvBytes: 64 * 2 ** 20, prefix })
  const sessions = Array.from({ length: 8 }, () => engine.native.createSession())
  await Promise.all(
    sessions.map((id, index) => engine.run(id, { prompt: prompt(40 + index), maxNewTokens: 30 })),
  )
  for (const id of sessions.slice(0, 3)) await engine.native.disposeSession(id)
  await engine.native.compact()
  const { compaction, pages, prefix: report } = engine.native.report()
  expect(compaction.moves).toBeGreaterThan(0)
  expect(pages.used).toBe(pages.packed)
  expect(report.shared).toBeGreaterThan(0)
  for (const id of sessions.slice(3)) {
    const run = await engine.run(id, { prompt: prompt(70), maxNewTokens: 30 })
    expect(run.tokens).toEqual(story.slice(70, 100))
  }
  const found = await engine.fresh({ prompt: prompt(70), maxNewTokens: 30 })
  expect(cached(found)).toBe(64)
  expect(found.tokens).toEqual(story.slice(70, 100))
})
