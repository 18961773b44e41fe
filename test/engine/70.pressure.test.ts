/** A pool too small for everybody: all finish, idle KV gives way, what can never fit is refused. */
import { goldens, story } from '../helpers/goldens.js'
import {
  blockBytes,
  endless,
  TestEngine,
  type RequestOptions,
  type Running,
} from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'

/** 16 blocks of 16 tokens: two requests of 128. */
const tight = { kvBytes: 16 * blockBytes(), maxSequences: 8 }

let engine: TestEngine
beforeEach(async () => {
  engine = await TestEngine.load(tight)
})
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close()
})

test('ten requests share room for two', async () => {
  const sessions = Array.from({ length: 10 }, () => engine.native.createSession())
  const runs = sessions.map((session) =>
    engine.start(session, { prompt: story.slice(0, 28), maxNewTokens: 100 }),
  )
  let most = 0
  for (const running of runs) {
    await running.finish
    most = Math.max(most, engine.native.report().running)
    expect(running.tokens).toEqual(story.slice(28, 128))
  }
  // Two that begin, and who will have ended before these have grown: 8 + 8 blocks, or 2 + 2 + 2 + 8.
  expect(most).toBeLessThanOrEqual(4)
  // First come, first served.
  const admitted = runs.map(({ finishes }) => finishes[0]!.timings.admitted)
  expect(admitted).toEqual([...admitted].sort((a, b) => a - b))
})

test('idle sessions give way by what is needed, the least recently used first, and recompute', async () => {
  const sessions = Array.from({ length: 4 }, () => engine.native.createSession())
  for (const session of sessions)
    await engine.run(session, { prompt: story.slice(0, 60), maxNewTokens: 4 })
  expect(engine.native.report()).toMatchObject({ blocksFree: 0 })
  await engine.run(sessions[0]!, { prompt: story.slice(0, 60), maxNewTokens: 4 }) // now the most recently used
  const fifth = engine.native.createSession()
  const { tokens } = await engine.run(fifth, { prompt: story.slice(0, 100), maxNewTokens: 10 })
  expect(tokens).toEqual(story.slice(100, 110))
  expect(engine.native.report().sessions.map(({ tokens: held }) => held)).toEqual([
    63, 0, 16, 63, 109,
  ])
  const again = await engine.run(sessions[1]!, { prompt: story.slice(0, 60), maxNewTokens: 4 })
  expect(again.finishes[0]!.cachedTokens).toBe(0)
  expect(again.tokens).toEqual(story.slice(60, 64))
})

test('a turn keeps its own prefix while others give way to it', async () => {
  const [own, other] = [engine.native.createSession(), engine.native.createSession()]
  await engine.run(own, { prompt: story.slice(0, 100), maxNewTokens: 1 })
  await engine.run(other, { prompt: story.slice(0, 100), maxNewTokens: 1 })
  const turn = await engine.run(own, { prompt: story.slice(0, 120), maxNewTokens: 100 })
  expect(turn.finishes[0]!.cachedTokens).toBe(100)
  expect(turn.tokens).toEqual(story.slice(120, 220))
})

test('waiting sessions that hold KV do not block the head of the queue', async () => {
  // All blocks are held by sessions that all wait for more: someone must give way.
  const sessions = Array.from({ length: 4 }, () => engine.native.createSession())
  for (const session of sessions)
    await engine.run(session, { prompt: story.slice(0, 60), maxNewTokens: 1 })
  const runs = sessions.map((session) =>
    engine.start(session, { prompt: story.slice(0, 61), maxNewTokens: 150 }),
  )
  for (const running of runs) {
    await running.finish
    expect(running.tokens).toEqual(story.slice(61, 211))
  }
})

test('a large request waits its turn and is not overtaken', async () => {
  const enter = (options: RequestOptions): Running =>
    engine.start(engine.native.createSession(), { ...options, credits: 0 })
  const first = enter({ maxNewTokens: 60 })
  const large = enter({ prompt: story.slice(0, 200), maxNewTokens: 50 })
  const later = Array.from({ length: 5 }, () => enter({ maxNewTokens: 20 }))
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 7 })
  for (const { id } of [first, large, ...later]) engine.native.grant(id, 60)
  await Promise.all([first.finish, large.finish, ...later.map(({ finish }) => finish)])
  expect(large.tokens).toEqual(story.slice(200, 250))
  const admitted = large.finishes[0]!.timings.admitted
  for (const { finishes } of later)
    expect(finishes[0]!.timings.admitted).toBeGreaterThanOrEqual(admitted)
})

test('exactly the whole pool fits; one token more is refused', async () => {
  const session = engine.native.createSession()
  const { tokens } = await engine.run(session, { prompt: story.slice(0, 200), maxNewTokens: 56 })
  expect(tokens).toEqual(story.slice(200, 256))
  expect(
    refusal(() => engine.start(session, { prompt: story.slice(0, 200), maxNewTokens: 57 })).code,
  ).toBe('OCTAVO_REQUEST_TOO_LARGE')
})

test('a session disposed under pressure lets the next one in', async () => {
  await engine.close()
  engine = await TestEngine.loadEndless({ kvBytes: (endless / 16) * blockBytes() })
  const holder = engine.native.createSession()
  const held = engine.start(holder, { maxNewTokens: endless - 1 })
  await held.produced(1)
  const waiting = engine.start(engine.native.createSession(), {
    prompt: goldens[1]!.prompt,
    maxNewTokens: 60,
  })
  expect(engine.native.report().waiting).toBe(1)
  await engine.native.disposeSession(holder)
  await waiting.finish
  expect(waiting.tokens).toEqual(goldens[1]!.output.slice(0, 60))
})
