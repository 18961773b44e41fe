/** A thousand requests cancelled in every state, a thousand stopped by time: one end each, the ledger exact after. */
import { story } from '../helpers/goldens.js'
import { blockBytes, native, TestEngine, type Running } from '../helpers/native-engine.js'
import { SeededRandom } from '../helpers/seeded-random.js'

/** AddressSanitizer is slow: fewer of the same. */
const count = native.buildInfo.sanitizer ? 200 : 1000
const prefix = { eviction: 'lru-2', share: 0.7, retentionMs: 0, correlatedUses: 0 } as const

const settings: [string, object][] = [
  ['guaranteed', {}],
  ['optimistic, with a prefix cache', { prefix, admission: 'optimistic' }],
  ['overlapping', { overlap: true }],
]

let engine: TestEngine
let loaded: ReturnType<TestEngine['native']['report']>

async function open(options: object): Promise<void> {
  engine = await TestEngine.load({
    kvBytes: 24 * blockBytes(),
    maxSequences: 6,
    maxBatchTokens: 24,
    testing: { fakeClock: true },
    ...options,
  })
  loaded = engine.native.report()
}

/** The state of a request as the engine tells it. */
function stateOf(session: number, running: Running): string {
  if (running.finishes.length > 0) return 'ended'
  const info = engine.native.sessions().find(({ id }) => id === session)!
  if (info.stage !== 'inference') return info.stage
  return running.tokens.length > 0 ? 'decode' : 'prefill'
}

/** Until it has ended, waits for its caller or waits to begin: what the engine's speed does not decide. */
async function rest(session: number, running: Running): Promise<void> {
  const moves = (): boolean => ['prefill', 'decode'].includes(stateOf(session, running))
  while (moves()) await new Promise(setImmediate)
}

/** Everything that was taken is back, to the byte, and every request has ended once. */
async function expectNothingLeft(sessions: number[], runs: Running[]): Promise<void> {
  await Promise.all(runs.map(({ finish }) => finish))
  for (const { tokens, finishes } of runs) {
    expect(finishes).toHaveLength(1)
    expect(tokens).toHaveLength(finishes[0]!.outputTokens)
  }
  engine.native.check()
  await Promise.all(sessions.map((session) => engine.native.disposeSession(session)))
  engine.native.clearPrefixCache()
  await engine.native.compact()
  const report = engine.native.report()
  const lines = (all: typeof loaded.lines) => all.map(({ peakBytes: _, ...line }) => line)
  expect(lines(report.lines)).toEqual(lines(loaded.lines))
  expect(report).toMatchObject({
    blocksFree: loaded.blocksTotal,
    blocksOwned: 0,
    blocksInFlight: 0,
    running: 0,
    waiting: 0,
    sessions: [],
  })
  expect(engine.native.leaks().leaks).toEqual([])
  await engine.close()
}

const randomRequest = (random: SeededRandom) => {
  const score = random.next() < 0.1
  return {
    prompt: story.slice(0, random.between(1, 100)),
    score,
    maxNewTokens: score ? 0 : random.between(1, 60),
    credits: random.pick([0, random.between(1, 5), 1000]),
    priority: random.pick([0, 0, 1]),
  }
}

test.each(settings)('%s: cancelled in every state', async (_, options) => {
  await open(options)
  const random = new SeededRandom(11)
  const runs: Running[] = []
  const sessions: number[] = []
  const met = new Map<string, number>()
  let current: { session: number; running: Running }[] = []
  while (runs.length < count || current.length > 0) {
    while (current.length < 12 && runs.length < count) {
      const session = engine.native.createSession()
      const running = engine.start(session, randomRequest(random))
      sessions.push(session)
      runs.push(running)
      current.push({ session, running })
    }
    const { session, running } = random.pick(current)
    const patience = random.between(0, 3)
    for (let turn = 0; turn < patience; turn++) await new Promise(setImmediate)
    if (random.next() < 0.04) await rest(session, running)
    if (random.next() < 0.3) engine.native.grant(running.id, random.between(1, 3))
    const state = stateOf(session, running)
    met.set(state, (met.get(state) ?? 0) + 1)
    if (random.next() < 0.2) await engine.native.disposeSession(session)
    for (let again = random.between(1, 2); again > 0; again--) engine.native.cancel(running.id)
    current = current.filter((each) => each.running !== running)
    if (runs.length % 50 === 0) engine.native.check()
  }
  const states = ['queue', 'post', 'ended']
  expect([...met.keys()]).toEqual(expect.arrayContaining(states))
  await expectNothingLeft(sessions, runs)
})

test.each(settings)('%s: stopped by time in every stage', async (_, options) => {
  await open(options)
  const random = new SeededRandom(12)
  const runs: Running[] = []
  const sessions: number[] = []
  while (runs.length < count) {
    const lease = random.next() < 0.1 ? { heartbeatMs: random.between(20, 60), idleMs: 60 } : {}
    const session = engine.native.createSession(lease)
    sessions.push(session)
    const stages = {
      queueMs: random.pick([0, random.between(1, 80)]),
      inferenceMs: random.between(1, 80),
      postMs: random.between(1, 40),
    }
    const { score, ...request } = randomRequest(random)
    // What its caller does not take up in the queue no limit would end.
    const credits = stages.queueMs === 0 ? Math.max(1, request.credits) : request.credits
    const maxNewTokens = score ? 5 : request.maxNewTokens
    const running = engine.start(session, { ...request, maxNewTokens, credits, stages })
    runs.push(running)
    if (random.next() < 0.5) await new Promise(setImmediate)
    if (random.next() < 0.04) await rest(session, running)
    if (random.next() < 0.6) engine.native.advanceClock(random.between(1, 30))
    if (runs.length % 50 === 0) engine.native.check()
  }
  let ended = false
  const ends = Promise.all(runs.map(({ finish }) => finish)).then(() => (ended = true))
  while (!ended) {
    engine.native.advanceClock(50)
    await new Promise(setImmediate)
  }
  await ends
  const reasons = new Map<string, number>()
  for (const { finishes } of runs) {
    const { reason, code, message } = finishes[0]!
    const stage = /stage '(\w+)'/.exec(message)?.[1]
    const name = stage ?? (reason === 'failed' ? code : reason)
    reasons.set(name, (reasons.get(name) ?? 0) + 1)
  }
  expect([...reasons.keys()].sort()).toEqual(expect.arrayContaining(['inference', 'post', 'queue']))
  const allowed = ['OCTAVO_LEASE_EXPIRED', 'inference', 'length', 'post', 'queue']
  for (const name of reasons.keys()) expect(allowed).toContain(name)
  await expectNothingLeft(sessions, runs)
})
