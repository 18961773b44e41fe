/** The plan made before a load, the running engine's plan and the ledger: the same bytes, item by item. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import {
  Engine,
  type EngineOptions,
  type MemoryPlan,
  type MemoryReport,
  type PlanItem,
} from '../../../lib/index.js'
import { goldenNames } from '../../parity/goldens.js'
import { copyOfStories, expectNothingLive, root, stories } from './support.js'

const MiB = 2 ** 20
const GiB = 2 ** 30
const folders: [string, string][] = [
  ['stories260k', stories],
  ...goldenNames.map((name): [string, string] => [name, join(root, 'test/goldens/models', name)]),
]

const choices: EngineOptions[] = [
  { memory: { limit: 256 * MiB } },
  { memory: { limit: 512 * MiB, kv: 3 * MiB }, dtype: 'bf16', kv: { blockSize: 16 } },
  { memory: { limit: 256 * MiB }, dtype: 'fp16', kv: { dtype: 'fp32', blockSize: 64 } },
  { memory: { limit: GiB, kv: 8 * MiB }, maxSequences: 3, maxBatchTokens: 7 },
  {
    memory: { limit: GiB, pinned: 32 * MiB },
    dtype: 'fp32',
    kv: { dtype: 'bf16' },
    maxSequences: 40,
  },
]

/** Bytes by region and tag; KV blocks change their owner and tag, their region never. */
function byTag(
  items: readonly Pick<PlanItem, 'region' | 'tag' | 'bytes'>[],
): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { region, tag, bytes } of items) {
    const name = region === 'kv' ? 'kv' : `${region} ${tag}`
    sums[name] = (sums[name] ?? 0) + bytes
  }
  return sums
}

/** The KV cache may grow into what was planned for it; everything else is taken at once and to the byte. */
function expectTaken(plan: MemoryPlan, memory: MemoryReport): void {
  const { kv: plannedKv, ...planned } = byTag(plan.items)
  const { kv: heldKv = 0, ...held } = byTag(memory.ledger)
  expect(held).toEqual(planned)
  expect(heldKv).toBeLessThanOrEqual(plannedKv!)
  expect(memory.allocatedBytes).toBe(plan.plannedBytes - plannedKv! + heldKv)
  expect(memory.kv.totalBlocks).toBe(plan.kv.blocks)
  expect(memory.kv.blockBytes).toBe(plan.kv.blockBytes)
  for (const [name, region] of Object.entries(memory.regions)) {
    expect([name, region.limitBytes]).toEqual([
      name,
      plan.regions[name as keyof MemoryPlan['regions']],
    ])
    if (name !== 'kv') expect([name, region.allocatedBytes]).toEqual([name, region.limitBytes])
  }
  const loading = byTag(plan.loading)
  expect(memory.regions.workspace.allocatedPeakBytes).toBe(
    loading['workspace weights.staging'] ?? 0,
  )
  expect(memory.regions.pinned.allocatedPeakBytes).toBe(plan.pinnedPeakBytes)
}

describe.each(folders)('%s', (_, folder) => {
  it.each(choices)('with %j', async (options) => {
    const all = { device: 'cpu', threads: 1, ...options }
    const before = await Engine.plan(folder, all)
    expect(before.fits).toBe(true)
    await using engine = await Engine.load(folder, all)
    const { freeBytes: _free, ...during } = engine.plan()
    const { freeBytes: __, ...asked } = before
    expect(during).toEqual(asked)
    expectTaken(before, engine.memory())
    using session = engine.createSession()
    await session.generate([1, 2, 3], { maxNewTokens: 5, ignoreEos: true }).result
    expectTaken(before, engine.memory())
  })
})

it('a KV cache that is full holds what was planned for it', async () => {
  const options: EngineOptions = {
    device: 'cpu',
    threads: 1,
    memory: { limit: 64 * MiB, kv: 2 * MiB },
  }
  const { kv, regions } = await Engine.plan(stories, options)
  await using engine = await Engine.load(stories, options)
  const each = 4 // blocks a session
  const sessions = Array.from({ length: Math.floor(kv.blocks / each) }, () =>
    engine.createSession(),
  )
  const tokens = each * kv.blockSize
  const fill = { maxNewTokens: 1, ignoreEos: true }
  const prompt = Array<number>(tokens - 1).fill(7)
  for (const session of sessions) await session.generate(prompt, fill).result
  const rest = kv.blocks % each
  if (rest > 0) {
    const last = engine.createSession()
    await last.generate(prompt.slice(0, rest * kv.blockSize - 1), fill).result
  }
  expect(engine.memory().kv.freeBlocks).toBe(0)
  expect(engine.memory().regions.kv.allocatedBytes).toBe(regions.kv)
})

describe('a plan', () => {
  afterEach(expectNothingLive)
  const assume = { total: GiB, context: 100 * MiB }

  it('for a card that is not here counts its context against limit and free memory', async () => {
    const plan = await Engine.plan(stories, { assume, memory: { limit: 1 } })
    expect(plan).toMatchObject({
      device: 'cuda:0',
      totalBytes: GiB,
      contextBytes: 100 * MiB,
      limitBytes: GiB,
      freeBytes: GiB - 100 * MiB,
      roomBytes: GiB - 100 * MiB,
      fits: true,
      missing: null,
      maxBatchTokens: 8192,
    })
  })

  it('says that a context was not measured', async () => {
    const plan = await Engine.plan(stories, { assume: { total: GiB }, device: 'cuda:3' })
    expect(plan).toMatchObject({ device: 'cuda:3', contextBytes: null, fits: true })
    expect(plan.roomBytes).toBe(Math.floor(0.85 * GiB))
  })

  it('fills a small card to the last block, and names the first item that does not fit', async () => {
    const sizes = [1, 2, 8, 24, 26, 40, 64].map((size) => size * MiB)
    for (const total of sizes) {
      const plan = await Engine.plan(stories, { assume: { total }, memory: { limit: 1 } })
      let left = plan.roomBytes
      const first = plan.items
        .filter(({ region }) => region !== 'pinned')
        .find(({ bytes }) => (left -= bytes) < 0)
      if (first === undefined) {
        expect(plan.missing).toBeNull()
        expect(plan.plannedBytes).toBeLessThanOrEqual(total)
        const most = plan.maxSequences * Math.ceil(512 / 32)
        if (plan.kv.blocks < most) expect(left).toBeLessThan(2 * MiB + 2 * plan.kv.blockBytes)
      } else {
        expect(plan.missing).toEqual({ ...first, leftBytes: left + first.bytes, shortBytes: -left })
      }
    }
  })

  it('holds exactly the sessions that it says, and no more', async () => {
    const options = { assume, memory: { kv: 4 * MiB }, context: 300 }
    const { session, kv } = await Engine.plan(stories, options)
    expect(session).toEqual({
      context: 300,
      blocks: 10,
      bytes: 10 * kv.blockBytes,
      count: Math.floor(kv.blocks / 10),
    })
    expect((await Engine.plan(stories, { ...options, sessions: session.count })).fits).toBe(true)
    const { fits, missing } = await Engine.plan(stories, {
      ...options,
      sessions: session.count + 1,
    })
    expect(fits).toBe(false)
    const bytes = (session.count + 1) * session.bytes
    const leftBytes = kv.blocks * kv.blockBytes
    expect(missing).toEqual({
      region: 'kv',
      tag: 'kv',
      bytes,
      leftBytes,
      shortBytes: bytes - leftBytes,
    })
  })

  it('knows the longest context of a KV cache that is smaller than the model', async () => {
    const { longestContext, kv } = await Engine.plan(stories, {
      assume,
      memory: { kv: 5 * 40960 },
    })
    expect(kv.blocks).toBe(5)
    expect(longestContext).toBe(160)
    expect((await Engine.plan(stories, { assume })).longestContext).toBe(512)
  })

  it('is what a load refuses by', async () => {
    const options: EngineOptions = { device: 'cpu', memory: { limit: 4 * MiB } }
    const { missing } = await Engine.plan(stories, options)
    await expect(Engine.load(stories, options)).rejects.toMatchObject({
      code: 'OCTAVO_OUT_OF_MEMORY',
      message: expect.stringContaining(`${missing!.tag}, short by ${missing!.shortBytes} bytes`),
    })
  })

  it('shrinks the ring under a ceiling on pinned memory, and refuses where even that is too much', async () => {
    const need = await Engine.plan(stories, { device: 'cpu' })
    const small = await Engine.plan(stories, {
      device: 'cpu',
      memory: { pinned: 4 * MiB },
      maxSequences: 16,
    })
    expect(small).toMatchObject({ fits: true, pinnedLimitBytes: 4 * MiB })
    const tight: EngineOptions = { device: 'cpu', memory: { pinned: MiB / 2 } }
    const { missing, fits } = await Engine.plan(stories, tight)
    expect(fits).toBe(false)
    expect(missing).toMatchObject({ region: 'pinned', tag: 'scores' })
    expect(need.pinnedLimitBytes).toBeNull()
    await expect(Engine.load(stories, tight)).rejects.toMatchObject({
      code: 'OCTAVO_OUT_OF_MEMORY',
      message: expect.stringMatching(/memory\.pinned allows 524288; the first item .* is scores/),
    })
  })

  it('needs no weight', async () => {
    const { folder, remove } = await copyOfStories()
    const path = join(folder, 'model.safetensors')
    const whole = await Engine.plan(folder, { assume })
    const file = await open(path, 'r+')
    const { size } = await file.stat()
    const length = Buffer.alloc(8)
    await file.read(length, 0, 8, 0)
    await file.truncate(8 + Number(length.readBigUInt64LE()))
    await file.truncate(size) // all zeros behind the header
    await file.close()
    expect(await Engine.plan(folder, { assume })).toEqual(whole)
    await remove()
  })

  it.each([
    [{ context: 0 }, 'OCTAVO_INVALID_ARGUMENT', /context is 0/],
    [{ context: 513 }, 'OCTAVO_CONTEXT_EXCEEDED', /513 tokens; the model takes 512/],
    [{ sessions: 3 }, 'OCTAVO_INVALID_ARGUMENT', /sessions is 3; it must be given with context/],
    [{ assume: {} }, 'OCTAVO_INVALID_ARGUMENT', /assume\.total is undefined/],
    [{ assume: { total: 1, memory: 2 } }, 'OCTAVO_UNKNOWN_OPTION', /assume\.memory/],
    [{ contxt: 5 }, 'OCTAVO_UNKNOWN_OPTION', /did you mean context/],
    [{ signal: new AbortController().signal }, 'OCTAVO_UNKNOWN_OPTION', /signal/],
    [{ memory: { limit: 0 } }, 'OCTAVO_INVALID_ARGUMENT', /memory\.limit is 0/],
    [{ memory: { kv: 100 } }, 'OCTAVO_INVALID_ARGUMENT', /memory\.kv is 100.*takes/],
  ])('with %j is refused', async (options, code, message) => {
    await expect(
      Engine.plan(stories, { device: 'cpu', ...options } as never),
    ).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  })

  it('of a disposed engine is refused', async () => {
    const engine = await Engine.load(stories, { device: 'cpu', memory: { limit: 64 * MiB } })
    engine.dispose()
    expect(() => engine.plan()).toThrow(expect.objectContaining({ code: 'OCTAVO_DISPOSED' }))
  })
})
