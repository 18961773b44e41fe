/** The kernels run before a load ends, and what the driver took for itself by then is counted, not assumed. */
import { story } from '../helpers/goldens.js'
import { TestEngine } from '../helpers/native-engine.js'

const MiB = 2 ** 20

test('warming up before the load ends leaves nothing behind and changes no token', async () => {
  const plain = await TestEngine.load()
  const lines = plain.native.report().lines
  await plain.close()
  const warm = await TestEngine.load({ testing: { warmUp: true } })
  const strip = (all: typeof lines): object[] => all.map(({ peakBytes: _, ...line }) => line)
  expect(strip(warm.native.report().lines)).toEqual(strip(lines))
  expect(warm.native.report()).toMatchObject({ blocksInFlight: 0, steps: 0 })
  expect((await warm.fresh({ maxNewTokens: 60 })).tokens).toEqual(story.slice(1, 61))
  warm.native.check()
  await warm.close()
})

test('warms up in a pool of one block too', async () => {
  const tiny = await TestEngine.load({ kvBytes: 20480, testing: { warmUp: true } })
  expect(tiny.native.report().blocksFree).toBe(1)
  tiny.native.check()
  await tiny.close()
})

/** An automatic KV size that the limit alone sets: 64 sequences could use more. */
const filling = {
  kvBytes: 0,
  memoryLimit: 24 * MiB,
  maxSequences: 64,
  maxBatchTokens: 64,
  kvDType: 'fp32',
} as const

test('a KV cache of automatic size makes room for a context that grew', async () => {
  const before = await TestEngine.load(filling)
  const { plannedBytes, kv } = before.native.plan({ contextTokens: 0, sessions: 1 })
  await before.close()
  // The CPU takes a quarter of the limit for KV at most: the context must leave less than that.
  const contextGrowth = 24 * MiB - plannedBytes + 2 * MiB
  const after = await TestEngine.load({ ...filling, testing: { warmUp: true, contextGrowth } })
  const plan = after.native.plan({ contextTokens: 0, sessions: 1 })
  expect(plan).toMatchObject({ contextBytes: contextGrowth, missing: null })
  expect(plan.kv.blocks).toBeLessThan(kv.blocks)
  expect(plan.kv.blocks).toBeGreaterThan(0)
  expect(plan.plannedBytes + contextGrowth).toBeLessThanOrEqual(24 * MiB)
  const { regions, blocksTotal, contextBytes } = after.native.report()
  expect(blocksTotal).toBe(plan.kv.blocks)
  expect(contextBytes).toBe(contextGrowth)
  for (const { allocatedBytes, limitBytes } of regions) {
    expect(allocatedBytes).toBeLessThanOrEqual(limitBytes)
  }
  expect((await after.fresh({ maxNewTokens: 60 })).tokens).toEqual(story.slice(1, 61))
  after.native.check()
  await after.close()
})

test('a KV cache that was asked for is refused when the context leaves no room for it', async () => {
  const asked = { ...filling, kvBytes: 8 * MiB }
  const before = await TestEngine.load(asked)
  const { plannedBytes } = before.native.plan({ contextTokens: 0, sessions: 1 })
  await before.close()
  const room = 24 * MiB - plannedBytes
  const fits = await TestEngine.load({ ...asked, testing: { warmUp: true, contextGrowth: room } })
  await fits.close()
  const refused = TestEngine.load({ ...asked, testing: { warmUp: true, contextGrowth: room + 1 } })
  await expect(refused).rejects.toMatchObject({
    code: 'OCTAVO_OUT_OF_MEMORY',
    message: expect.stringMatching(
      /does not fit by 1 bytes.*kv, short by 1 bytes.*of the context/,
    ) as string,
  })
})
