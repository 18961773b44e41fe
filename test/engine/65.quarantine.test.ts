/** Faults planted in the tables of KV blocks: named, put into quarantine, and everybody else is served as before. */
import type { NativeEngineOptions } from '../../lib/native.js'
import { story } from '../helpers/goldens.js'
import { blockBytes, TestEngine, type Running } from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'
import { SeededRandom } from '../helpers/seeded-random.js'

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  // With overlap a step that was launched for somebody who is gone may still be under way.
  while (engine.native.report().blocksInFlight > 0) await new Promise(setImmediate)
  const { blocksFree, blocksCapacity, running, waiting } = engine.native.report()
  expect({ running, waiting, blocksFree }).toEqual({
    running: 0,
    waiting: 0,
    blocksFree: blocksCapacity,
  })
  await engine.close() // whose last check would say what the ledger has left
})

const prefix = { eviction: 'lru-2', share: 1, retentionMs: 0, correlatedUses: 0 } as const
const open = (options: Partial<NativeEngineOptions> = {}, testing = {}): Promise<TestEngine> =>
  TestEngine.load({ ...options, testing: { mayPlant: true, ...testing } })
const quarantineBytes = (): number =>
  engine.native.report().lines.find(({ tag }) => tag === 'kv.quarantine')?.bytes ?? 0

/** A request of so many tokens that has made a few, and waits to be told to go on. */
async function paused(session: number, maxNewTokens = 60): Promise<Running> {
  const running = engine.start(session, { maxNewTokens, credits: 5 })
  await running.produced(5)
  return running
}

function isFailure(running: Running, block: RegExp): void {
  expect(running.finishes).toHaveLength(1)
  expect(running.finishes[0]).toMatchObject({ reason: 'failed', code: 'OCTAVO_INTERNAL' })
  expect(running.finishes[0]!.message).toMatch(block)
}

async function disposeAll(): Promise<void> {
  for (const { id } of engine.native.sessions()) await engine.native.disposeSession(id)
}

test('a block in two tables ends both sessions, and nobody gets it again', async () => {
  engine = await open({}, { checkSteps: 1 })
  const [first, second, other] = [1, 2, 3].map(() => engine.native.createSession())
  const hurt = [await paused(first!), await paused(second!)]
  const innocent = await paused(other!)
  engine.native.plantViolation('double', first!, second!)
  engine.native.grant(innocent.id, 1000)
  await Promise.all([...hurt, innocent].map(({ finish }) => finish))
  isFailure(hurt[0]!, /KV block \d+ is session 1's, held by session 1; listed by session 1, 2; /)
  isFailure(hurt[1]!, /owner session \d.*no stack is known.*in quarantine.*create another/)
  expect(innocent.tokens).toEqual(story.slice(1, 61))
  const { quarantine, blocksTotal, blocksCapacity } = engine.native.report()
  expect(quarantine).toMatchObject({ blocks: 2, sessions: 2 }) // the other one's own last block, too
  expect(quarantine.violations.join('\n')).toMatch(/held by session 2; no session lists it/)
  expect(blocksCapacity).toBe(blocksTotal - 2)
  expect(quarantineBytes()).toBe(2 * blockBytes())
  engine.native.check()
  const { code, message } = refusal(() => engine.start(first!))
  expect(code).toBe('OCTAVO_INTERNAL')
  expect(message).toMatch(/^KV block \d+/)
  await engine.native.disposeSession(first!)
  expect((await engine.fresh({ maxNewTokens: 60 })).tokens).toEqual(story.slice(1, 61))
  await disposeAll()
})

test('the stack that took the block is told where the trace has it', async () => {
  engine = await open({ trace: traceAll }, { checkSteps: 1 })
  const hurt = await paused(engine.native.createSession())
  const other = await paused(engine.native.createSession())
  engine.native.plantViolation('freed', 1, 1)
  engine.native.grant(other.id, 1000)
  await Promise.all([hurt.finish, other.finish])
  isFailure(
    hurt,
    /is free, last session 1's; listed by session 1; .*it had its last block from \S+ .*← /,
  )
  await disposeAll()
})

const traceAll = { level: 2, ringEvents: 100_000, sampleBytes: 1, spillBytes: 0 }

test.each([
  ['freed', /is free, last session 1's; listed by session 1/],
  ['listed', /is session 1's, and on the list of blocks in flight 1 times/],
] as const)('a block that is %s while it is held', async (kind, sentence) => {
  engine = await open({}, { checkSteps: 1 })
  const hurt = await paused(engine.native.createSession())
  const innocent = await paused(engine.native.createSession())
  engine.native.plantViolation(kind, 1, 1)
  engine.native.grant(innocent.id, 1000)
  await Promise.all([hurt.finish, innocent.finish])
  isFailure(hurt, sentence)
  expect(innocent.tokens).toEqual(story.slice(1, 61))
  expect(engine.native.report().quarantine).toMatchObject({ blocks: 1, sessions: 1 })
  await disposeAll()
})

test('an engine that goes idle finds it; so does whoever gives the block back', async () => {
  engine = await open()
  for (let each = 0; each < 3; each++) {
    await engine.run(engine.native.createSession(), { maxNewTokens: 20 })
  }
  engine.native.plantViolation('freed', 1, 1)
  engine.native.plantViolation('freed', 2, 2)
  await engine.native.disposeSession(1)
  expect(engine.native.report().quarantine).toMatchObject({ blocks: 2, sessions: 2 })
  engine.native.check()
  engine.native.plantViolation('freed', 3, 3)
  const idle = engine.native.createSession() // nobody's step touches the block
  expect((await engine.run(idle, { maxNewTokens: 10 })).tokens).toEqual(story.slice(1, 11))
  while (engine.native.report().quarantine.blocks < 3) await new Promise(setImmediate)
  expect(engine.native.sessions().map(({ id }) => id)).toEqual([idle])
  await disposeAll()
})

test('a request that the rest of the pool cannot hold is refused, what fits is served', async () => {
  engine = await open({ kvBytes: 8 * blockBytes() })
  await engine.run(engine.native.createSession(), { maxNewTokens: 20 })
  engine.native.plantViolation('freed', 1, 1)
  await engine.native.disposeSession(1)
  const { code, message } = refusal(() =>
    engine.start(engine.native.createSession(), { maxNewTokens: 127 }),
  )
  expect(code).toBe('OCTAVO_REQUEST_TOO_LARGE')
  expect(message).toMatch(/need 8 KV blocks.*has 7/)
  expect((await engine.fresh({ maxNewTokens: 111 })).tokens).toEqual(story.slice(1, 112))
  await disposeAll()
})

test.each([
  ['alone', {}, 1],
  ['looked at now and then', {}, 7],
  ['with a prefix cache', { prefix }, 1],
  ['optimistic, in little room', { admission: 'optimistic', kvBytes: 24 * blockBytes() }, 3],
] as const)('whoever is not told of a fault has the right tokens: %s', async (_, given, steps) => {
  engine = await open(given, { checkSteps: steps })
  const random = new SeededRandom(7)
  let hurt = 0
  for (let round = 0; round < 12; round++) {
    const sessions = Array.from({ length: 6 }, () => engine.native.createSession())
    const runs = sessions.map((session) => {
      const from = random.between(1, 30)
      const prompt = story.slice(0, from)
      return { from, run: engine.start(session, { prompt, maxNewTokens: 40, credits: 20 }) }
    })
    const [one, two] = [random.between(0, 5), random.between(0, 5)]
    await Promise.all([runs[one]!, runs[two]!].map(({ run }) => run.produced(10)))
    const [victim, other] = [sessions[one]!, sessions[two]!]
    const planted = random.pick(['double', 'freed', 'listed'] as const)
    try {
      engine.native.plantViolation(planted, victim, other)
    } catch (error) {
      expect(error).toMatchObject({ code: /OCTAVO_INVALID_ARGUMENT|OCTAVO_INTERNAL/ }) // it has lost its KV, or ended
    }
    for (const { run } of runs) engine.native.grant(run.id, 100)
    await Promise.all(runs.map(({ run }) => run.finish))
    for (const { from, run } of runs) {
      expect(run.finishes).toHaveLength(1)
      if (run.finishes[0]!.reason === 'failed') hurt++
      else expect(run.tokens).toEqual(story.slice(from, from + 40))
    }
    await disposeAll()
  }
  const { quarantine } = engine.native.report()
  expect(hurt).toBeGreaterThan(0)
  expect(quarantine.blocks).toBeGreaterThan(0)
  expect(quarantineBytes()).toBe(quarantine.blocks * blockBytes())
  engine.native.clearPrefixCache()
})
