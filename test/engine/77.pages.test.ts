/** KV comes page by page: it moves together, goes back, and may be refused, and no token differs for it. */
import { story } from '../helpers/goldens.js'
import { TestEngine } from '../helpers/native-engine.js'

const MiB = 2 ** 20
const page = 2 * MiB
const head = story.slice(0, 20)

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close()
})

/** Sessions that hold the beginning of the story, run at once so that each starts on a page of its own. */
async function tellers(count: number): Promise<number[]> {
  const sessions = Array.from({ length: count }, () => engine.native.createSession())
  await Promise.all(sessions.map((id) => engine.run(id, { prompt: head, maxNewTokens: 30 })))
  return sessions
}

test('a loaded engine holds no KV page; compaction gives all of them back', async () => {
  engine = await TestEngine.load({ kvBytes: 64 * MiB })
  const loaded = engine.native.report()
  expect(loaded.pages.mapped).toBe(0)
  const [session] = await tellers(1)
  const held = engine.native.report()
  expect(held.pages).toMatchObject({ mapped: 8, used: 1, packed: 1, mappedBytes: 8 * page })
  await engine.native.compact()
  expect(engine.native.report().pages).toMatchObject({ mapped: 1, used: 1 })
  await engine.native.disposeSession(session!)
  await engine.native.compact()
  expect(engine.native.report().lines).toEqual(loaded.lines)
})

test('blocks that moved hold what they held: every session goes on with its KV', async () => {
  engine = await TestEngine.load({ kvBytes: 64 * MiB })
  const sessions = await tellers(8)
  const before = engine.native.report()
  expect(before.pages).toMatchObject({ used: 8, packed: 1 })
  await engine.native.compact()
  const after = engine.native.report()
  expect(after.pages).toMatchObject({ used: 1, mapped: 1, liveBytes: before.pages.liveBytes })
  expect(after.compaction).toMatchObject({ pagesFreed: 7, moves: 28 })
  expect(after.compaction.bytes).toBe(28 * after.blockBytes)
  expect(after.compaction.longestNanoseconds).toBeGreaterThan(0)
  const runs = await Promise.all(
    sessions.map((id) => engine.run(id, { prompt: story.slice(0, 60), maxNewTokens: 60 })),
  )
  for (const { tokens, finishes } of runs) {
    expect(finishes[0]!.cachedTokens).toBe(49)
    expect(tokens).toEqual(story.slice(60, 120))
  }
})

test('compaction between the steps of running requests changes no token', async () => {
  engine = await TestEngine.load({ kvBytes: 64 * MiB, testing: { stepMicroseconds: 500 } })
  const runs = Array.from({ length: 14 }, () =>
    engine.start(engine.native.createSession(), { prompt: head, maxNewTokens: 120 }),
  )
  await Promise.all(runs.map((run) => run.produced(2)))
  await engine.native.compact()
  const { compaction, running } = engine.native.report()
  expect(running).toBe(14)
  expect(compaction.moves).toBeGreaterThan(0)
  for (const run of runs) {
    await run.finish
    expect(run.tokens).toEqual(story.slice(20, 140))
  }
})

test('an engine that is idle for long enough gives pages back by itself', async () => {
  engine = await TestEngine.load({ kvBytes: 64 * MiB, testing: { idleMilliseconds: 1 } })
  const sessions = await tellers(4)
  const mapped = (): number => engine.native.report().pages.mapped
  while (mapped() > 1) await new Promise(setImmediate)
  for (const session of sessions) await engine.native.disposeSession(session)
  while (mapped() > 0) await new Promise(setImmediate)
  expect((await engine.fresh({ prompt: head, maxNewTokens: 30 })).tokens).toEqual(
    story.slice(20, 50),
  )
})

test('where pages cannot be mapped, the cache is held from the load and works the same', async () => {
  engine = await TestEngine.load({ kvBytes: 8 * MiB, testing: { inelasticKv: true } })
  const kv = (): number[] => {
    const { regions, pages } = engine.native.report()
    return [regions.find(({ region }) => region === 'kv')!.allocatedBytes, pages.mapped]
  }
  expect(kv()).toEqual([8 * MiB, 4])
  await tellers(6)
  await engine.native.compact()
  expect(kv()).toEqual([8 * MiB, 4])
  expect((await engine.fresh({ prompt: head, maxNewTokens: 30 })).tokens).toEqual(
    story.slice(20, 50),
  )
})

test('when the device has no more, the pool shrinks: requests wait for each other and all end well', async () => {
  // One page has 102 blocks; eight requests of 29 were promised more. Later the device has room again.
  engine = await TestEngine.load({
    kvBytes: 64 * MiB,
    testing: { kvPages: 1, kvPagesUntil: 600 },
  })
  const runs = Array.from({ length: 8 }, () =>
    engine.start(engine.native.createSession(), { maxNewTokens: 450 }),
  )
  await runs[0]!.produced(300)
  expect(engine.native.report().pages.mapped).toBe(1)
  const length = Math.min(story.length - 1, 200)
  for (const run of runs) {
    expect((await run.finish).reason).not.toBe('failed')
    expect(run.tokens.slice(0, length)).toEqual(story.slice(1, 1 + length))
  }
  await engine.fresh({ maxNewTokens: 200 })
  const { blocksCapacity, blocksTotal, regions, steps } = engine.native.report()
  expect(steps).toBeGreaterThan(600)
  expect(blocksCapacity).toBe(blocksTotal)
  expect(regions.find(({ region }) => region === 'kv')!.failures).toBeGreaterThan(0)
})

test('when the device has no page at all, a request is refused by code and the engine goes on', async () => {
  engine = await TestEngine.load({ testing: { kvPages: 0, kvPagesUntil: 2 } })
  const session = engine.native.createSession()
  for (let turn = 0; turn < 3; turn++) {
    const { finishes } = await engine.run(session, { prompt: head, maxNewTokens: 10 })
    expect(finishes[0]).toMatchObject({ reason: 'failed', code: 'OCTAVO_OUT_OF_MEMORY' })
    expect(finishes[0]!.message).toMatch(/shrank to 0 of \d+ blocks/)
  }
  engine.native.check()
})

test('in steady state no page is mapped or given back', async () => {
  engine = await TestEngine.load({ kvBytes: 64 * MiB })
  const turn = (): Promise<unknown> =>
    Promise.all(
      [1, 2, 3].map(() => engine.fresh({ prompt: head, maxNewTokens: 40, credits: 1000 })),
    )
  const counts = (): object => {
    const { allocations, frees } = engine.native
      .report()
      .regions.find(({ region }) => region === 'kv')!
    return { allocations, frees }
  }
  await turn()
  const before = counts()
  await turn()
  await turn()
  expect(counts()).toEqual(before)
})
