/** `prefixCache`, tenants and forks, as users of the SDK meet them. */
import type { Engine } from '../../../lib/index.js'
import { type EngineOptions, type Session } from '../../../lib/index.js'
import { continuation, golden, ledgerOf, loadStories, sessionBytes } from './support.js'

const [story] = golden
const ids = (count: number): number[] => story.ids.slice(0, count)

let engine: Engine
afterEach(() => engine.dispose())

async function open(options: EngineOptions = {}): Promise<void> {
  engine = await loadStories({ kv: { blockSize: 16 }, ...options })
}

/** Tokens found of the first `count` of the story; what follows is the story. */
async function found(session: Session, count: number): Promise<number> {
  const { tokens, usage } = await session.generate(ids(count), { maxNewTokens: 8 }).result
  expect(tokens).toEqual(continuation(story, count).slice(0, 8))
  return usage.cachedTokens
}

async function once(count: number, tenant?: string): Promise<number> {
  await using session = engine.createSession({ tenant })
  return await found(session, count)
}

test('by default nothing of a session outlives it', async () => {
  await open()
  const loaded = ledgerOf(engine)
  expect(await once(100)).toBe(0)
  expect(await once(100)).toBe(0)
  await engine.compact()
  expect(ledgerOf(engine)).toEqual(loaded)
  expect(engine.memory().kv.prefix).toMatchObject({ enabled: false, queries: 0, blocks: 0 })
})

test('with it a prompt finds what others have left, and all of it can be given back', async () => {
  await open({ prefixCache: true })
  const loaded = ledgerOf(engine)
  expect(await once(100)).toBe(0)
  const { kv } = engine.memory()
  expect(kv).toMatchObject({ cachedBlocks: 6, usedBlocks: 0, prefix: { blocks: 6 } })
  expect(kv.freeBlocks + kv.cachedBlocks).toBe(kv.capacityBlocks)
  expect(await once(100)).toBe(96)
  expect(engine.memory().kv.prefix).toMatchObject({
    queries: 2,
    queryTokens: 200,
    sessionTokens: 0,
    hitTokens: 96,
  })
  engine.clearPrefixCache()
  await engine.compact()
  expect(ledgerOf(engine)).toEqual(loaded)
  expect(await once(100)).toBe(0)
})

test('tenants do not find each other’s', async () => {
  await open({ prefixCache: true })
  expect([await once(40, 'a'), await once(40, 'b'), await once(40), await once(40, 'a')]).toEqual([
    0, 0, 0, 32,
  ])
})

test('a fork holds the same blocks, and its end leaves the other’s', async () => {
  await open()
  using session = engine.createSession()
  await found(session, 40)
  const held = sessionBytes(engine.memory())
  const fork = session.fork()
  expect(sessionBytes(engine.memory())).toBe(held)
  expect(fork.memory()).toMatchObject({ tokens: 47, blocks: 3, blocksOfOthers: 3, bytes: 0 })
  const [own, forked] = await Promise.all([found(session, 47), found(fork, 47)])
  expect([own, forked]).toEqual([46, 46])
  expect(engine.memory().kv.prefix.copiedBlocks).toBeGreaterThan(0)
  await fork[Symbol.asyncDispose]()
  engine.check()
  expect(sessionBytes(engine.memory(), session.id)).toBe(sessionBytes(engine.memory()))
  expect(await found(session, 54)).toBe(53)
})

test('a session that generates, or is disposed, is not forked', async () => {
  await open()
  const session = engine.createSession()
  const run = session.generate(ids(10), { maxNewTokens: 200 })
  await run.next()
  expect(() => session.fork()).toThrow(expect.objectContaining({ code: 'OCTAVO_SESSION_BUSY' }))
  await run.cancel()
  session.dispose()
  expect(() => session.fork()).toThrow(expect.objectContaining({ code: 'OCTAVO_DISPOSED' }))
})

test.each([
  [{ prefixCache: 1 }, 'prefixCache is 1; it must be true, false or an object of options'],
  [{ prefixCache: { share: 2 } }, 'prefixCache.share is 2; it must be a number from 0 to 1'],
  [
    { prefixCache: { eviction: 'lfu' } },
    /prefixCache.eviction is "lfu"; it must be one of "lru-2", "lru"/,
  ],
  [{ prefixCache: { retention: 1 } }, /unknown option prefixCache.retention; did you mean/],
])('%j is refused by name', async (options, message) => {
  await expect(loadStories(options as EngineOptions)).rejects.toThrow(message)
  await open()
})

test('a tenant is text', async () => {
  await open()
  const create = (options: object) => () => engine.createSession(options)
  expect(create({ tenant: 5 })).toThrow('tenant is 5; it must be a string')
  expect(create({ tenants: 'a' })).toThrow(/unknown option tenants; did you mean tenant/)
})
