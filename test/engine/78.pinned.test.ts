/** Pinned buffers of an engine: what a load held beside its plan is kept for the next request, and goes when told. */
import { FakeHost } from '../helpers/fake-host.js'
import { story } from '../helpers/goldens.js'
import { TestEngine } from '../helpers/native-engine.js'

const MiB = 2 ** 20
const KiB = 1024

// Weights of fp32 that become bf16 pass through the ring: eight buffers, of which the spare keeps some.
const spare = { dtype: 'bf16' as const, testing: { pinnedSpare: MiB } }

/** Of a plan: the ones that are held while the engine is there. */
const plannedBuffers = (engine: TestEngine): number =>
  engine.native
    .plan({ contextTokens: 0, sessions: 1 })
    .items.filter(({ region }) => region === 'pinned').length
const kept = (engine: TestEngine): number =>
  engine.native.report().lines.find(({ tag }) => tag === 'pinned.kept')?.bytes ?? 0

test('a load without spare keeps nothing: what the plan says is what is held', async () => {
  const engine = await TestEngine.load({ dtype: 'bf16' })
  const { plan, report } = {
    plan: engine.native.plan({ contextTokens: 0, sessions: 1 }),
    report: engine.native.report(),
  }
  const planned = plan.items
    .filter(({ region }) => region === 'pinned')
    .map(({ tag, bytes }) => ({ tag, bytes }))
  const held = report.lines
    .filter(({ region }) => region === 'pinned')
    .map(({ tag, bytes }) => ({ tag, bytes }))
  const byTag = (a: { tag: string }, b: { tag: string }): number => (a.tag < b.tag ? -1 : 1)
  expect(held.sort(byTag)).toEqual(planned.sort(byTag))
  expect(plan.loading).toContainEqual(
    expect.objectContaining({ region: 'pinned', tag: 'weights.ring' }),
  )
  expect(engine.native.leaks()).toMatchObject({
    pinned: plannedBuffers(engine),
    pinnedKept: 0,
  })
  await engine.close()
})

test('what the ring leaves is named, counted, within its bound, and gone with the engine', async () => {
  const engine = await TestEngine.load(spare)
  expect(kept(engine)).toBeGreaterThan(0)
  expect(kept(engine)).toBeLessThanOrEqual(MiB)
  const { regions } = engine.native.report()
  const pinned = regions.find(({ region }) => region === 'pinned')!
  expect(pinned.allocatedBytes).toBeLessThanOrEqual(pinned.limitBytes)
  const { current } = pinned.statistics.reserved_bytes.all
  expect(current - pinned.statistics.active_bytes.all.current).toBe(kept(engine))
  const { pinned: alive, pinnedKept } = engine.native.leaks()
  expect(alive).toBe(plannedBuffers(engine) + pinnedKept)
  engine.native.check()
  await engine.close()
})

test('a short host gets kept buffers back at once, and its log says how many bytes', async () => {
  const host = new FakeHost()
  const engine = await TestEngine.load({
    ...spare,
    testing: { ...spare.testing, hostRoot: host.root },
  })
  expect(kept(engine)).toBeGreaterThan(0)
  host.set({ events: { high: 1, max: 0, oom_kill: 0 } })
  engine.native.pollHost()
  expect(kept(engine)).toBe(0)
  const actions = engine.native.report().host.events.map(({ action }) => action)
  expect(actions[1]).toMatch(/^gave \d.* of pinned buffers back$/)
  expect(engine.native.leaks()).toMatchObject({
    pinned: plannedBuffers(engine),
    pinnedKept: 0,
  })
  expect((await engine.fresh({ maxNewTokens: 40 })).tokens).toHaveLength(40)
  engine.native.check()
  await engine.close()
  host.remove()
})

test('an idle engine gives them back by itself', async () => {
  const engine = await TestEngine.load({
    ...spare,
    testing: { ...spare.testing, idleMilliseconds: 1 },
  })
  while (kept(engine) > 0) await new Promise((resolve) => setTimeout(resolve, 1))
  expect(engine.native.leaks().pinnedKept).toBe(0)
  engine.native.check()
  await engine.close()
})

test('planning again after the warm-up takes the same buffers, not new ones', async () => {
  const filling = {
    kvBytes: 0,
    memoryLimit: 24 * MiB,
    maxSequences: 64,
    maxBatchTokens: 64,
    kvDType: 'fp32',
  } as const
  const before = await TestEngine.load(filling)
  const { plannedBytes } = before.native.plan({ contextTokens: 0, sessions: 1 })
  await before.close()
  const contextGrowth = 24 * MiB - plannedBytes + 256 * KiB
  const engine = await TestEngine.load({ ...filling, testing: { warmUp: true, contextGrowth } })
  const { statistics } = engine.native.report().regions.find(({ region }) => region === 'pinned')!
  const handedOut = statistics.allocation.all.allocated
  expect(handedOut).toBe(2 * plannedBuffers(engine)) // once by each plan
  expect(statistics.num_device_alloc).toBeLessThan(handedOut)
  expect(kept(engine)).toBe(0)
  expect((await engine.fresh({ maxNewTokens: 60 })).tokens).toEqual(story.slice(1, 61))
  engine.native.check()
  await engine.close()
})
