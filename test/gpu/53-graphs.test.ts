/** Captured work on a card; and stories with decode steps replayed, and with steps planned ahead: the same tokens. */
import { Engine, type EngineOptions } from '../../lib/index.js'
import { story } from '../helpers/goldens.js'
import { expectNothingLive } from '../helpers/nothing-live.js'
import { testGraphs } from '../ops-cases/graphs.js'

testGraphs('cuda:0')

const settings: [string, EngineOptions][] = [
  ['kernel by kernel', { graphs: false, overlap: false }],
  ['graphs', { graphs: true, overlap: false }],
  ['overlap', { graphs: false, overlap: true }],
  ['graphs and overlap, as without a word', {}],
]

test.each(settings)('%s: the golden story, alone and beside others', async (_, options) => {
  const engine = await Engine.load(undefined, {
    device: 'cuda:0',
    dtype: 'fp32',
    maxSequences: 8,
    ...options,
  })
  const prompt = story.slice(0, 9)
  const one = async (): Promise<number[]> => {
    await using session = engine.createSession()
    const run = session.generate(prompt, { maxNewTokens: 100, temperature: 0, ignoreEos: true })
    return (await run.result).tokens
  }
  const expected = story.slice(9, 109)
  expect(await one()).toEqual(expected)
  for (const tokens of await Promise.all(Array.from({ length: 7 }, one))) {
    expect(tokens).toEqual(expected)
  }
  const { enabled, buckets, fallbacks } = engine.graphs()
  expect({ enabled, fallbacks }).toEqual({ enabled: options.graphs !== false, fallbacks: 0 })
  expect(buckets.map(({ problem }) => problem)).toEqual(buckets.map(() => null))
  if (enabled) expect(buckets[0]!.replays).toBeGreaterThanOrEqual(99)
  engine.check()
  engine.dispose()
  expectNothingLive()
})
