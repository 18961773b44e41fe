/** Several samples of a prompt under every setting: each has the tokens of a request of its own with that seed. */
import { story } from '../helpers/goldens.js'
import {
  blockBytes,
  native,
  TestEngine,
  type RequestOptions,
  type Running,
} from '../helpers/native-engine.js'
import { randomSampling } from '../helpers/random-load.js'
import { SeededRandom } from '../helpers/seeded-random.js'

type LoadOptions = NonNullable<Parameters<typeof TestEngine.load>[0]>

const prefix = { eviction: 'lru-2', share: 1, retentionMs: 0, correlatedUses: 0 } as const
/** Room for the longest, which has 9 blocks, and little more. */
const tight = { kvBytes: 11 * blockBytes(), maxSequences: 8, maxBatchTokens: 48 }
/** AddressSanitizer is slow: fewer of the same. */
const groups = native.buildInfo.sanitizer ? 8 : 40

interface Group {
  options: RequestOptions
  samples: number
  /** By sample: cancelled when it has so many tokens. */
  cancels: (number | null)[]
}

function randomGroup(random: SeededRandom): Group {
  const samples = random.between(1, 6)
  const stops = random.next() < 0.5 ? [random.pick(story), random.pick(story)] : []
  const options: RequestOptions = {
    ...randomSampling(random),
    temperature: random.pick([0, 0.7, 1.4, 1.4]),
    prompt: story.slice(0, random.pick([1, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100])),
    maxNewTokens: random.pick([1, 2, 15, 16, 17, 30]),
    stopTokens: stops,
    priority: random.pick([0, 0, 1]),
    credits: random.pick([0, 1, 2, 1000]),
  }
  const cancels = Array.from({ length: samples }, () =>
    random.next() < 0.15 ? random.pick([0, 1, 3, 9]) : null,
  )
  return { options, samples, cancels }
}

const groupsOf = (seed: number): Group[] => {
  const random = new SeededRandom(seed)
  return Array.from({ length: groups }, () => randomGroup(random))
}

/** What each sample is alone, where nothing is shared. */
async function runAlone(all: Group[]): Promise<Running[][]> {
  const engine = await TestEngine.load()
  const runs: Running[][] = []
  for (const { options, samples } of all) {
    const group: Running[] = []
    for (let index = 0; index < samples; index++) {
      const seed = options.seed! + BigInt(index)
      group.push(await engine.fresh({ ...options, seed, credits: 1000 }))
    }
    runs.push(group)
  }
  await engine.close()
  return runs
}

async function runGroup(engine: TestEngine, group: Group): Promise<Running[]> {
  const { options, samples, cancels } = group
  const session = engine.native.createSession()
  const runs = engine.startAll(session, { ...options, samples })
  await Promise.all(
    runs.map(async (run, index) => {
      const limit = cancels[index] ?? null
      if (limit !== null) {
        engine.native.grant(run.id, limit + 2)
        await run.produced(limit)
        engine.native.cancel(run.id)
      } else {
        engine.native.grant(run.id, 1000)
      }
      await run.finish
    }),
  )
  await engine.native.disposeSession(session)
  return runs
}

/** Some at a time, as conversations come. */
async function runLoad(engine: TestEngine, all: Group[]): Promise<Running[][]> {
  const runs: Running[][] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < all.length) {
      const index = next++
      runs[index] = await runGroup(engine, all[index]!)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  return runs
}

function expectSame(run: Running, alone: Running, mayBeCancelled: boolean): void {
  expect(run.finishes).toHaveLength(1)
  const { reason, outputTokens } = run.finishes[0]!
  expect(outputTokens).toBe(run.tokens.length)
  const cancelled = mayBeCancelled && reason === 'cancelled'
  const length = cancelled ? run.tokens.length : Infinity
  expect(run.tokens).toEqual(alone.tokens.slice(0, length))
  expect(run.logprobs).toEqual(alone.logprobs.slice(0, length))
  if (!cancelled) expect(reason).toBe(alone.finishes[0]!.reason)
}

/** All of them when the first was cancelled before they began. */
function expectGroup(runs: Running[], alone: Running[], { cancels }: Group): void {
  const atOnce = cancels[0] !== null && runs[0]!.tokens.length === 0
  runs.forEach((run, index) => {
    expectSame(run, alone[index]!, atOnce || cancels[index] !== null)
  })
}

const settings: [string, LoadOptions][] = [
  ['guaranteed', {}],
  ['with a prefix cache', { prefix }],
  ['optimistic', { admission: 'optimistic' }],
  ['optimistic, with a prefix cache', { admission: 'optimistic', prefix }],
  ['with overlap', { overlap: true }],
  [
    'with overlap and a prefix cache, in small chunks',
    { overlap: true, prefix, maxBatchTokens: 7 },
  ],
  ['with overlap, optimistic', { overlap: true, admission: 'optimistic' }],
  ['with graphs', { graphs: true }],
  ['with graphs and overlap, optimistic', { graphs: true, overlap: true, admission: 'optimistic' }],
]

test.each(settings)(
  'a random load, %s: each sample is what its seed gives',
  async (name, given) => {
    const all = groupsOf(100 + settings.findIndex(([each]) => each === name))
    const alone = await runAlone(all)
    const engine = await TestEngine.load({ ...tight, testing: { checkSteps: 3 }, ...given })
    const loaded = engine.native.report()
    const runs = await runLoad(engine, all)
    runs.forEach((group, at) => {
      expectGroup(group, alone[at]!, all[at]!)
    })
    if (given.admission !== 'optimistic') expect(engine.native.report().preemptions).toBe(0)
    engine.expectEmpty(loaded)
    await engine.close()
  },
)
