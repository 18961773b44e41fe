/** Weights that stay in their files when copies do not fit: the same logits from fewer bytes. */
import { join } from 'node:path'
import { Engine, type EngineOptions } from '../../../lib/index.js'
import { goldenNames } from '../../parity/goldens.js'
import { expectNothingLive, root, stories } from './support.js'

const MiB = 2 ** 20
const small: EngineOptions = { device: 'cpu', threads: 1, maxSequences: 2, maxBatchTokens: 16 }
const folders: [string, string][] = [
  ['stories260k', stories],
  ...goldenNames.map((name): [string, string] => [name, join(root, 'test/goldens/models', name)]),
]

afterEach(expectNothingLive)

test.each(folders)('%s', async (_, folder) => {
  const roomy: EngineOptions = { ...small, memory: { limit: 256 * MiB, kv: MiB } }
  const copied = await Engine.plan(folder, roomy)
  expect(copied.mappedBytes).toBe(0)
  const tight: EngineOptions = { ...small, memory: { limit: copied.peakBytes - 1, kv: MiB } }
  const mapped = await Engine.plan(folder, tight)
  expect(mapped.fits).toBe(true)
  expect(mapped.mappedBytes).toBeGreaterThan(0)
  expect(mapped.regions.weights).toBeLessThan(copied.regions.weights)
  const prompt = [1, 5, 9, 2, 7, 3]
  const logits: Float32Array[] = []
  for (const options of [roomy, tight]) {
    const engine = await Engine.load(folder, options)
    logits.push((await engine.logits(prompt)).data)
    const { audit } = engine.memory({ audit: true })
    expect(audit.verdict).toBe('exact')
    const { bytes } = engine.memory().mapped
    expect(bytes).toBe(options === tight ? mapped.mappedBytes : 0)
    if (options === tight) expect(audit.mappedResidentBytes).toBeGreaterThan(0)
    else expect(audit.mappedResidentBytes).toBe(0)
    expect(engine.memory().regions.weights.allocatedBytes).toBe(engine.plan().regions.weights)
    engine.dispose()
  }
  expect(logits[1]).toEqual(logits[0])
})

test('what is missing is missing where weights were mapped too', async () => {
  const memory = { kv: MiB, limit: 256 * MiB }
  const { peakBytes } = await Engine.plan(stories, { ...small, memory })
  const mapped = await Engine.plan(stories, { ...small, memory: { kv: MiB, limit: peakBytes - 1 } })
  const limit = mapped.peakBytes - 1
  const short = await Engine.plan(stories, { ...small, memory: { kv: MiB, limit } })
  expect(short.missing).toMatchObject({ shortBytes: 1 })
  const load = Engine.load(stories, { ...small, memory: { kv: MiB, limit } })
  await expect(load).rejects.toThrow(/does not fit by 1 bytes/)
})

test('a dtype that was asked for is never mapped, nor is anything on a card', async () => {
  const { peakBytes } = await Engine.plan(stories, { ...small, dtype: 'fp32' })
  const memory = { limit: peakBytes - 1 }
  const asked = await Engine.plan(stories, {
    ...small,
    dtype: 'fp32',
    memory: { ...memory, kv: MiB },
  })
  expect(asked.mappedBytes).toBe(0)
  const card = await Engine.plan(stories, { assume: { total: 2 * MiB }, maxBatchTokens: 16 })
  expect(card).toMatchObject({ mappedBytes: 0, fits: false })
})
