/** Idle sessions lose KV to those that run, by either policy, and go on with the same tokens. */
import { story } from '../helpers/goldens.js'
import { blockBytes, TestEngine } from '../helpers/native-engine.js'

const sessions = 6
const policies = ['page-aware', 'lru'] as const

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close()
})

/** Each session in turn continues the story by ten tokens; to and fro, so that those in between keep something. */
async function turns(
  ids: number[],
  rounds: number,
): Promise<{ tokens: number[]; cached: number }[]> {
  const made = []
  for (let round = 1; round <= rounds; round++) {
    const order = [...ids.entries()]
    for (const [index, id] of round % 2 === 0 ? order.reverse() : order) {
      const prompt = story.slice(0, 20 * round + index)
      const { tokens, finishes } = await engine.run(id, { prompt, maxNewTokens: 10 })
      engine.native.check()
      expect(tokens).toEqual(story.slice(prompt.length, prompt.length + 10))
      made.push({ tokens, cached: finishes[0]!.cachedTokens })
    }
  }
  return made
}

/** The ledger's session lines are what the sessions list, to the byte. */
function agree(): void {
  const report = engine.native.report()
  const held = report.lines.filter(({ tag }) => tag === 'kv.blocks')
  const listed = report.sessions.filter(({ blocks }) => blocks > 0)
  expect(held.map(({ ownerId, bytes }) => [ownerId, bytes])).toEqual(
    listed.map(({ id, bytes }) => [id, bytes]),
  )
}

test('a pool with room for all evicts nothing', async () => {
  engine = await TestEngine.load({ kvBytes: 200 * blockBytes() })
  const ids = Array.from({ length: sessions }, () => engine.native.createSession())
  const made = await turns(ids, 4)
  expect(made.slice(sessions).every(({ cached }) => cached >= 20)).toBe(true)
  expect(engine.native.report().eviction).toEqual({ sessions: 0, blocks: 0, tokens: 0, pages: 0 })
})

test.each(policies)(
  '%s: what was evicted is computed again, to the same tokens',
  async (eviction) => {
    engine = await TestEngine.load({ kvBytes: 14 * blockBytes(), eviction })
    const ids = Array.from({ length: sessions }, () => engine.native.createSession())
    const made = await turns(ids, 6)
    agree()
    const { eviction: evicted, blocksOwned } = engine.native.report()
    expect(evicted.sessions).toBeGreaterThan(sessions)
    expect(evicted.blocks).toBeGreaterThanOrEqual(evicted.sessions)
    expect(evicted.tokens).toBeGreaterThan(16 * (evicted.blocks - evicted.sessions))
    expect(blocksOwned).toBeLessThanOrEqual(14)
    // Some turns find only the beginning of what they left: its blocks were not all needed.
    expect(made.some(({ cached }) => cached > 0 && cached % 16 === 0)).toBe(true)
  },
)

test.each(policies)(
  '%s: losers that end, are cancelled or run meanwhile leave nothing',
  async (eviction) => {
    engine = await TestEngine.load({
      kvBytes: 14 * blockBytes(),
      eviction,
      testing: { stepMicroseconds: 300 },
    })
    const { lines } = engine.native.report()
    const ids = Array.from({ length: sessions }, () => engine.native.createSession())
    await turns(ids, 2)
    const large = engine.start(engine.native.createSession(), {
      prompt: story.slice(0, 100),
      maxNewTokens: 60,
    })
    const waiting = engine.start(ids[0]!, { prompt: story.slice(0, 60), maxNewTokens: 100 })
    await large.produced(1)
    expect(engine.native.report().eviction.blocks).toBeGreaterThan(0)
    void engine.native.disposeSession(ids[1]!)
    const again = engine.start(ids[2]!, { prompt: story.slice(0, 50), maxNewTokens: 10 })
    engine.native.check()
    engine.native.cancel(waiting.id)
    await Promise.all([large.finish, waiting.finish, again.finish])
    expect(large.tokens).toEqual(story.slice(100, 160))
    expect(again.tokens).toEqual(story.slice(50, 60))
    agree()
    for (const { id } of engine.native.report().sessions) await engine.native.disposeSession(id)
    await engine.native.compact()
    expect(engine.native.report().lines).toEqual(lines)
  },
)

test('a pool that shrinks takes it from the idle', async () => {
  // 110 blocks of 20 KiB are a page and a bit, and there is memory for the one page.
  engine = await TestEngine.load({
    kvBytes: 110 * blockBytes(),
    testing: { kvPages: 1, kvPagesUntil: 10_000 },
  })
  const ids = Array.from({ length: 26 }, () => engine.native.createSession())
  for (const id of ids) {
    const { tokens } = await engine.run(id, { prompt: story.slice(0, 60), maxNewTokens: 20 })
    expect(tokens).toEqual(story.slice(60, 80))
    engine.native.check()
  }
  const { blocksOwned, pages, eviction } = engine.native.report()
  expect(pages.mapped).toBe(1)
  expect(blocksOwned).toBeLessThanOrEqual(102)
  expect(eviction.blocks).toBeGreaterThan(0)
  agree()
})

test('an unknown policy is refused', async () => {
  engine = await TestEngine.load()
  await expect(TestEngine.load({ eviction: 'fifo' as 'lru' })).rejects.toThrow(
    expect.objectContaining({ code: 'OCTAVO_INVALID_ARGUMENT' }),
  )
})
