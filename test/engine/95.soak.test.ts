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

interface Case {
  running: Running
  given: number
  isScore: boolean
}

/** A random request over the story, whose output is known. */
function randomRequest(random: SeededRandom): { options: RequestOptions; given: number } {
  const given = random.between(1, 120)
  const isScore = random.next() < 0.1
  const maxNewTokens = isScore ? 0 : random.between(1, 60)
  return {
    given,
    options: {
      prompt: story.slice(0, given),
      score: isScore,
      maxNewTokens,
      topLogprobs: random.next() < 0.2 ? random.between(1, 20) : 0,
      // Penalties of the identity's neighbourhood would change the text; a bias of zero must not.
      biasTokens: Int32Array.of(random.between(0, 511)),
      biasValues: Float32Array.of(0),
      credits: random.next() < 0.3 ? random.between(0, 5) : 1_000_000,
    },
  }
}

function expectSound({ running, given }: Case): void {
  expect(running.finishes).toHaveLength(1)
  const { reason, outputTokens, logits } = running.finishes[0]!
  expect(['length', 'cancelled']).toContain(reason)
  expect(running.tokens).toHaveLength(outputTokens)
  expect(running.tokens).toEqual(story.slice(given, given + outputTokens))
  expect(logits === null || logits.length === given * 512).toBe(true)
}

test.each([1, 2, 3])('soak %i: 500 random requests', async (seed) => {
  const random = new SeededRandom(seed)
  const engine = await TestEngine.load({
    kvBytes: random.between(16, 60) * blockBytes(),
    maxSequences: random.between(1, 12),
    maxBatchTokens: random.between(8, 64),
  })
  const loaded = engine.native.report()
  const cases: Case[] = []
  let sessions: number[] = []
  let live: Case[] = []

  for (let round = 0; cases.length < 500; round++) {
    if (sessions.length < 15) sessions.push(engine.native.createSession())
    const session = random.pick(sessions)
    const { options, given } = randomRequest(random)
    try {
      const started = {
        running: engine.start(session, options),
        given,
        isScore: options.score === true,
      }
      cases.push(started)
      live.push(started)
    } catch (error) {
      expect(['OCTAVO_SESSION_BUSY', 'OCTAVO_REQUEST_TOO_LARGE']).toContain(
        (error as { code: string }).code,
      )
    }
    live = live.filter(({ running }) => running.finishes.length === 0)
    for (const { running } of live)
      if (random.next() < 0.3) engine.native.grant(running.id, random.between(1, 10))
    if (live.length > 0 && random.next() < 0.05) engine.native.cancel(random.pick(live).running.id)
    if (random.next() < 0.02) {
      const gone = random.pick(sessions)
      sessions = sessions.filter((each) => each !== gone)
      void engine.native.disposeSession(gone)
      expect(engine.sessionBytes(gone)).toBe(0)
    }
    if (random.next() < 0.9) await new Promise(setImmediate)
    if (round % 20 === 0) engine.native.check()
  }
  for (const { running } of live) engine.native.grant(running.id, 1000)
  await Promise.all(cases.map(({ running }) => running.finish))
  for (const each of cases) expectSound(each)
  const ended = cases.map(({ running }) => running.finishes[0]!.reason)
  for (const reason of ['length', 'cancelled'])
    expect(ended.filter((each) => each === reason).length).toBeGreaterThan(50)

  await Promise.all(sessions.map((session) => engine.native.disposeSession(session)))
  const { lines, blocksFree, blocksInFlight, running, waiting } = engine.native.report()
  expect({
    lines: lines.map(({ peakBytes: _, ...line }) => line),
    blocksFree,
    blocksInFlight,
    running,
    waiting,
  }).toEqual({
    lines: loaded.lines.map(({ peakBytes: _, ...line }) => line),
    blocksFree: loaded.blocksTotal,
    blocksInFlight: 0,
    running: 0,
    waiting: 0,
  })
  engine.native.check()
  await engine.close()
  expect(native.liveObjects().engines).toBe(0)
})
