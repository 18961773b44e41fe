/** Random traffic with aborts in every state: what it leaves is exactly what it found. */
import { story } from '../helpers/goldens.js'
import {
  blockBytes,
  native,
  TestEngine,
  type RequestOptions,
  type Running,
} from '../helpers/native-engine.js'
import { SeededRandom } from '../helpers/seeded-random.js'

type Fate = 'finish' | 'cancel' | 'dispose'

interface Case {
  running: Running
  session: number
  given: number
  fate: Fate
}

/** A random request over the story, whose output is known. */
function randomRequest(
  random: SeededRandom,
  fate: Fate,
): { options: RequestOptions; given: number } {
  const given = random.between(1, 120)
  const isScore = random.next() < 0.1
  return {
    given,
    options: {
      prompt: story.slice(0, given),
      score: isScore,
      maxNewTokens: isScore ? 0 : random.between(1, 60),
      topLogprobs: random.next() < 0.2 ? random.between(1, 20) : 0,
      // A penalty would change the text; a bias of zero must not.
      biasTokens: Int32Array.of(random.between(0, 511)),
      biasValues: Float32Array.of(0),
      // Most that are to be ended lack the credits to end by themselves, however late their fate comes.
      credits: random.next() < (fate === 'finish' ? 0.3 : 0.8) ? random.between(0, 5) : 1_000_000,
    },
  }
}

function randomFate(random: SeededRandom): Fate {
  const dice = random.next()
  return dice < 0.25 ? 'cancel' : dice < 0.35 ? 'dispose' : 'finish'
}

/** Ends a request as it was meant to, after some of its tokens, at once, or while it waits. */
async function meet(
  engine: TestEngine,
  { running, session, fate }: Case,
  after: number,
): Promise<void> {
  if (fate === 'finish') {
    for (let turn = 0; turn < after; turn++) await new Promise(setImmediate)
    engine.native.grant(running.id, 1_000)
    return
  }
  engine.native.grant(running.id, after + 1)
  if (after % 2 === 0) await running.produced(after)
  else for (let turn = 0; turn < after; turn++) await new Promise(setImmediate)
  if (fate === 'cancel') engine.native.cancel(running.id)
  else {
    const reusable = engine.native.disposeSession(session)
    expect(engine.sessionBytes(session)).toBe(0)
    await reusable
    expect(running.finishes).toHaveLength(1)
  }
}

function expectSound({ running, given, fate }: Case): void {
  expect(running.finishes).toHaveLength(1)
  const { reason, outputTokens, logits } = running.finishes[0]!
  expect(fate === 'finish' ? ['length'] : ['length', 'cancelled']).toContain(reason)
  expect(running.tokens).toHaveLength(outputTokens)
  expect(running.tokens).toEqual(story.slice(given, given + outputTokens))
  expect(logits === null || logits.length === given * 512).toBe(true)
}

/** Empty, or a fork of an idle one. */
function newSession({ native: engine }: TestEngine, random: SeededRandom, idle: number[]): number {
  const forks = idle.length > 0 && random.next() < 0.2
  return forks ? engine.forkSession(random.pick(idle)) : engine.createSession()
}

/** AddressSanitizer is slow: fewer of the same. */
const count = native.buildInfo.sanitizer ? 150 : 500

const prefix = { eviction: 'lru-2', share: 0.7, retentionMs: 20, correlatedUses: 1 } as const

test.each([
  [1, 'alone', {}],
  [2, 'alone', {}],
  [3, 'alone', {}],
  [4, 'with a prefix cache', { prefix }],
  [5, 'with a prefix cache', { prefix }],
  [6, 'overlapping, with a prefix cache', { prefix, overlap: true }],
])(`soak %i, %s: ${count} random requests`, async (seed, _, options) => {
  const random = new SeededRandom(seed)
  const engine = await TestEngine.load({
    kvBytes: random.between(16, 60) * blockBytes(),
    maxSequences: random.between(1, 12),
    maxBatchTokens: random.between(8, 64),
    testing: { checkSteps: 7 },
    ...options,
  })
  const loaded = engine.native.report()
  const cases: Case[] = []
  const fates: Promise<void>[] = []
  const sessions = new Set<number>()
  const busy = new Map<number, Promise<unknown>>()

  while (cases.length < count) {
    while (busy.size >= 15) await Promise.race(busy.values())
    const idle = [...sessions].filter((session) => !busy.has(session))
    const session = idle.length > 4 ? random.pick(idle) : newSession(engine, random, idle)
    sessions.add(session)
    const fate = randomFate(random)
    const { options, given } = randomRequest(random, fate)
    let running: Running
    try {
      running = engine.start(session, options)
    } catch (error) {
      expect((error as { code: string }).code).toBe('OCTAVO_REQUEST_TOO_LARGE')
      continue
    }
    const started = { running, session, given, fate }
    if (started.fate === 'dispose') sessions.delete(session)
    cases.push(started)
    busy.set(
      session,
      running.finish.then(() => busy.delete(session)),
    )
    fates.push(meet(engine, started, random.between(0, 20)))
    if (random.next() < 0.3) await new Promise(setImmediate)
    if (cases.length % 20 === 0) engine.native.check()
  }
  await Promise.all(fates)
  await Promise.all(cases.map(({ running }) => running.finish))
  for (const each of cases) expectSound(each)
  const cancelled = cases.filter(({ running }) => running.finishes[0]!.reason === 'cancelled')
  expect(cancelled.length).toBeGreaterThan(count / 10)
  expect(cancelled.length).toBeLessThan(count / 2)

  await Promise.all([...sessions].map((session) => engine.native.disposeSession(session)))
  const { prefix: kept, blocksFree: free, blocksOwned } = engine.native.report()
  expect([kept.cached + free, blocksOwned]).toEqual([loaded.blocksTotal, 0])
  expect(kept.hitTokens > 0).toBe('prefix' in options)
  engine.native.clearPrefixCache()
  await engine.native.compact()
  const { lines, blocksFree, blocksInFlight, running, waiting } = engine.native.report()
  const withoutPeaks = (all: typeof lines): object[] => all.map(({ peakBytes: _, ...line }) => line)
  expect({ lines: withoutPeaks(lines), blocksFree, blocksInFlight, running, waiting }).toEqual({
    lines: withoutPeaks(loaded.lines),
    blocksFree: loaded.blocksTotal,
    blocksInFlight: 0,
    running: 0,
    waiting: 0,
  })
  engine.native.check()
  await engine.close()
  expect(native.liveObjects().engines).toBe(0)
})
