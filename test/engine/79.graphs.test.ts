/** Decode steps that are recorded and replayed: the same tokens as one by one, every replay counted, nothing left. */
import { story } from '../helpers/goldens.js'
import { blockBytes, native, TestEngine } from '../helpers/native-engine.js'
import { expectSameTurns, runLoad, type Turn } from '../helpers/random-load.js'

type LoadOptions = Parameters<typeof TestEngine.load>[0]

let engine: TestEngine
/** AddressSanitizer is slow: fewer of the same. */
const conversations = native.buildInfo.sanitizer ? 8 : 24
const tight = { kvBytes: 40 * blockBytes(), maxSequences: 6, maxBatchTokens: 48 }

const settings: [string, LoadOptions][] = [
  ['alone', {}],
  ['with overlap', { overlap: true }],
  ['with overlap, optimistic, blocks that move', { overlap: true, admission: 'optimistic' }],
  ['as on a device that warms up', { testing: { warmUp: true, contextGrowth: 2 ** 20 } }],
]

test.each(settings)('a random load %s: the same tokens, bit for bit', async (name, options) => {
  const seed = 40 + settings.findIndex(([each]) => each === name)
  const turns: Turn[][] = []
  for (const graphs of [false, true]) {
    engine = await TestEngine.load({ ...tight, testing: { checkSteps: 5 }, ...options, graphs })
    turns.push(await runLoad(engine, seed, conversations))
    const report = engine.native.graphs()
    expect(report.enabled).toBe(graphs)
    const replays = report.buckets.reduce((sum, bucket) => sum + bucket.replays, 0)
    expect(replays > 0).toBe(graphs)
    expect(replays).toBeLessThan(engine.native.report().steps)
    expect(report.fallbacks).toBe(0)
    expect(report.launches).toBe(replays) // one a step
    engine.native.check()
    await engine.close()
  }
  expectSameTurns(turns[1]!, turns[0]!)
})

test('one graph a size, up to what a step may hold; every decode replays in the smallest that holds it', async () => {
  engine = await TestEngine.load({ graphs: true, maxSequences: 20, maxBatchTokens: 128 })
  const sizes = (): number[] => engine.native.graphs().buckets.map(({ sequences }) => sequences)
  expect(sizes()).toEqual([1, 2, 4, 8, 16, 20])
  for (const { nodes, bytes, problem } of engine.native.graphs().buckets) {
    expect({ bytes, problem }).toEqual({ bytes: 0, problem: '' })
    // A layer has 9 operations; before them tables and tokens, behind them the logits.
    expect(nodes).toBeGreaterThanOrEqual(5 * 9)
  }
  const session = engine.native.createSession()
  const { steps } = engine.native.report()
  const { tokens } = await engine.run(session, { prompt: story.slice(0, 9), maxNewTokens: 30 })
  expect(tokens).toEqual(story.slice(9, 39))
  expect(engine.native.report().steps - steps).toBe(30)
  const replays = engine.native.graphs().buckets.map((bucket) => bucket.replays)
  expect(replays).toEqual([29, 0, 0, 0, 0, 0])
  await engine.native.disposeSession(session)
  await engine.close()
})

test('what cannot be captured runs step by step, and says which rule was broken', async () => {
  engine = await TestEngine.load({
    graphs: true,
    maxSequences: 4,
    maxBatchTokens: 64,
    testing: { failGraph: 1 },
  })
  const [one, two] = engine.native.graphs().buckets
  expect(one).toMatchObject({ sequences: 1, nodes: 0, problem: expect.stringContaining('waited') })
  expect(two).toMatchObject({ sequences: 2, problem: '' })
  const session = engine.native.createSession()
  const { tokens } = await engine.run(session, { prompt: story.slice(0, 9), maxNewTokens: 30 })
  expect(tokens).toEqual(story.slice(9, 39))
  expect(engine.native.graphs().fallbacks).toBe(29)
  expect(engine.native.graphs().buckets[0]!.replays).toBe(0)
  await engine.native.disposeSession(session)
  await engine.close()
})

test('without graphs nothing is recorded, and nothing more is held', async () => {
  engine = await TestEngine.load({ graphs: false, maxSequences: 4 })
  expect(engine.native.graphs()).toEqual({
    enabled: false,
    buckets: [],
    fallbacks: 0,
    launches: 0,
    captureMs: 0,
  })
  const tags = engine.native.report().lines.map(({ tag }) => tag)
  expect(tags).not.toContain('graphs.table')
  await engine.close()
  engine = await TestEngine.load({ graphs: true, maxSequences: 4 })
  const line = engine.native.report().lines.find(({ tag }) => tag === 'graphs.table')!
  expect(line).toMatchObject({ region: 'graph', ownerKind: 'engine', bytes: 512 })
  await engine.close()
})
