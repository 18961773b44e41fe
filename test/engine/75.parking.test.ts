/** Callers that take nothing give up their place, and go on later as if nothing had been. */
import { story } from '../helpers/goldens.js'
import {
  blockBytes,
  endless,
  TestEngine,
  type RequestOptions,
  type Running,
} from '../helpers/native-engine.js'

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close()
})

/** Starts a request that stalls after `count` tokens. */
async function stalled(session: number, count: number, options: RequestOptions): Promise<Running> {
  const running = engine.start(session, { ...options, credits: count })
  await running.produced(count)
  return running
}

const seeded = { temperature: 1, seed: 5n, frequencyPenalty: 0.5 }

test('one place: a stalled request gives it up, and goes on with its KV', async () => {
  engine = await TestEngine.load({ maxSequences: 1 })
  const [a, b] = [engine.native.createSession(), engine.native.createSession()]
  await engine.run(a, { prompt: story.slice(0, 20), maxNewTokens: 1 })
  const prompt = story.slice(0, 40)
  const slow = await stalled(a, 1, { prompt, maxNewTokens: 60 })
  const quick = await engine.run(b, { maxNewTokens: 50 })
  expect(quick.tokens).toEqual(story.slice(1, 51))
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 1 })
  const held = engine.native.report().sessions
  expect(held).toMatchObject([{ tokens: 40, state: 'waiting' }, { state: 'idle' }])
  engine.native.check()
  const steps = engine.native.report().steps
  engine.native.grant(slow.id, 100)
  expect(await slow.finish).toMatchObject({
    reason: 'length',
    promptTokens: 40,
    cachedTokens: 20,
    outputTokens: 60,
  })
  expect(slow.tokens).toEqual(story.slice(40, 100))
  expect(engine.native.report().steps).toBe(steps + 59)
  const { submitted, admitted, firstToken } = slow.finishes[0]!.timings
  expect(admitted).toBeGreaterThanOrEqual(submitted)
  expect(firstToken).toBeGreaterThanOrEqual(admitted)
})

test.each([
  ['greedy', {}],
  ['seeded', seeded],
])('%s: KV that was reclaimed is recomputed from prompt and output', async (_, sampling) => {
  // 16 blocks of 16 tokens and steps of 24: the other request needs them all.
  engine = await TestEngine.load({ kvBytes: 16 * blockBytes(), maxBatchTokens: 24 })
  const options = { ...sampling, prompt: story.slice(0, 30), maxNewTokens: 100 }
  const wanted = await engine.fresh(options)
  const session = engine.native.createSession()
  const slow = await stalled(session, 40, options)
  const large = await engine.fresh({ prompt: story.slice(0, 200), maxNewTokens: 56 })
  expect(large.tokens).toEqual(story.slice(200, 256))
  expect(engine.native.report().sessions).toMatchObject([
    { tokens: 0, blocks: 0, state: 'waiting' },
  ])
  engine.native.check()
  engine.native.grant(slow.id, 60)
  expect(await slow.finish).toMatchObject({
    reason: 'length',
    promptTokens: 30,
    cachedTokens: 0,
    outputTokens: 100,
  })
  expect(slow.tokens).toEqual(wanted.tokens)
  expect(slow.logprobs).toEqual(wanted.logprobs)
  expect(engine.native.report().sessions).toMatchObject([{ tokens: 129, state: 'idle' }])
})

test('two that take a token in turn share one place', async () => {
  engine = await TestEngine.load({ maxSequences: 1, kvBytes: 8 * blockBytes() })
  const options = { ...seeded, prompt: story.slice(0, 20), maxNewTokens: 80 }
  const wanted = await engine.fresh(options)
  const runs = [1, 2].map(() =>
    engine.start(engine.native.createSession(), { ...options, credits: 0 }),
  )
  for (let count = 1; count <= 80; count++) {
    for (const running of runs) {
      engine.native.grant(running.id, 1)
      await running.produced(count)
      engine.native.check()
    }
  }
  for (const running of runs) {
    expect(await running.finish).toMatchObject({ reason: 'length', cachedTokens: 0 })
    expect(running.tokens).toEqual(wanted.tokens)
  }
})

test('nobody is parked while there is room, nor anybody who takes', async () => {
  engine = await TestEngine.loadEndless({ maxSequences: 2 })
  const sessions = Array.from({ length: 3 }, () => engine.native.createSession())
  const slow = await stalled(sessions[0]!, 2, { maxNewTokens: 30 })
  const steady = engine.start(sessions[1]!, { maxNewTokens: endless })
  await steady.produced(2)
  expect(engine.native.report()).toMatchObject({ running: 2, waiting: 0 })
  const third = await engine.run(sessions[2]!, { maxNewTokens: 10 })
  expect(third.tokens).toEqual(story.slice(1, 11))
  const states = engine.native.report().sessions.map(({ state }) => state)
  expect(states).toEqual(['waiting', 'running', 'idle'])
  engine.native.grant(slow.id, 28)
  await Promise.all([slow.finish, steady.produced(60)])
  expect(slow.tokens).toEqual(story.slice(1, 31))
  expect(steady.tokens.slice(0, 60)).toEqual(story.slice(1, 61))
  engine.native.cancel(steady.id)
  await steady.finish
})

test('a parked request can be cancelled, and its session disposed', async () => {
  engine = await TestEngine.load({ maxSequences: 1 })
  const sessions = Array.from({ length: 3 }, () => engine.native.createSession())
  const first = await stalled(sessions[0]!, 3, { maxNewTokens: 30 })
  const second = await stalled(sessions[1]!, 3, { maxNewTokens: 30 })
  const third = await stalled(sessions[2]!, 3, { maxNewTokens: 30 })
  expect(engine.native.report()).toMatchObject({ running: 1, waiting: 2 })
  engine.native.cancel(first.id)
  await engine.native.disposeSession(sessions[1]!)
  expect(await first.finish).toMatchObject({ reason: 'cancelled', outputTokens: 3 })
  expect(await second.finish).toMatchObject({ reason: 'cancelled', outputTokens: 3 })
  engine.native.check()
  const turn = await engine.run(sessions[0]!, { prompt: story.slice(0, 4), maxNewTokens: 5 })
  expect(turn.tokens).toEqual(story.slice(4, 9))
  expect(turn.finishes[0]!.cachedTokens).toBe(3)
  engine.native.grant(third.id, 27)
  await third.finish
  expect(third.tokens).toEqual(story.slice(1, 31))
})
