/** What a request can ask for: stops, seeds, penalties, log-probabilities, credits. */
import { setTimeout as pause } from 'node:timers/promises'
import { story } from '../helpers/goldens.js'
import { TestEngine } from '../helpers/native-engine.js'

let engine: TestEngine
beforeAll(async () => {
  engine = await TestEngine.load()
})
afterAll(async () => {
  engine.native.check()
  await engine.close()
})

test('a stop token ends the request and is told', async () => {
  const stop = story[15]!
  const first = story.indexOf(stop, 1)
  const { tokens, finishes } = await engine.fresh({ maxNewTokens: 100, stopTokens: [509, stop] })
  expect(tokens).toEqual(story.slice(1, first + 1))
  expect(finishes[0]).toMatchObject({ reason: 'eos', outputTokens: first })
})

test('the last token may be the stop', async () => {
  const stop = story[5]!
  const { finishes } = await engine.fresh({ maxNewTokens: 5, stopTokens: [stop] })
  expect(finishes[0]).toMatchObject({ reason: 'eos', outputTokens: 5 })
})

const random = { temperature: 1, maxNewTokens: 60 } as const

test('a seed fixes the tokens, whatever else runs', async () => {
  const alone = await engine.fresh({ ...random, seed: 7n })
  const crowd = Array.from({ length: 9 }, (_, index) => {
    const session = engine.native.createSession()
    return {
      session,
      running: engine.start(session, { ...random, seed: index < 5 ? 7n : BigInt(100 + index) }),
    }
  })
  const outputs: number[][] = []
  for (const { session, running } of crowd) {
    await running.finish
    outputs.push(running.tokens)
    await engine.native.disposeSession(session)
  }
  for (const tokens of outputs.slice(0, 5)) expect(tokens).toEqual(alone.tokens)
  expect(new Set(outputs.map(String)).size).toBe(5)
})

test('a seed uses all its 64 bits', async () => {
  const low = await engine.fresh({ ...random, seed: 1n })
  const high = await engine.fresh({ ...random, seed: 1n + 2n ** 63n })
  expect(high.tokens).not.toEqual(low.tokens)
})

test('sampling goes on over a cached prefix as it would afresh', async () => {
  const session = engine.native.createSession()
  const first = await engine.run(session, { ...random, seed: 3n })
  const prompt = [1, ...first.tokens.slice(0, 30)]
  const cached = await engine.run(session, { ...random, maxNewTokens: 30, seed: 3n, prompt })
  // The random counter is the position, so the same seed retells the same story.
  expect(cached.finishes[0]!.cachedTokens).toBe(30)
  expect(cached.tokens).toEqual(first.tokens.slice(30))
  await engine.native.disposeSession(session)
})

test('top-k 1 is greedy', async () => {
  const { tokens } = await engine.fresh({ ...random, topK: 1, seed: 9n })
  expect(tokens).toEqual(story.slice(1, 61))
})

test('a bias forbids or forces a token', async () => {
  const [first, forced] = [story[1]!, 300]
  const forbidden = await engine.fresh({
    maxNewTokens: 1,
    biasTokens: Int32Array.of(first),
    biasValues: Float32Array.of(-Infinity),
  })
  expect(forbidden.tokens[0]).not.toBe(first)
  const chosen = await engine.fresh({
    maxNewTokens: 8,
    biasTokens: Int32Array.of(forced),
    biasValues: Float32Array.of(1e4),
  })
  expect(chosen.tokens).toEqual(new Array(8).fill(forced))
})

test('a bias may forbid every token but one', async () => {
  const { tokens } = await engine.fresh({
    temperature: 1,
    maxNewTokens: 5,
    biasTokens: Int32Array.from({ length: 511 }, (_, token) => token),
    biasValues: new Float32Array(511).fill(-Infinity),
  })
  expect(tokens).toEqual([511, 511, 511, 511, 511])
})

test('a temperature next to nothing is greedy', async () => {
  for (const temperature of [1e-3, 1e-38, 1e-44]) {
    const { tokens } = await engine.fresh({ temperature, maxNewTokens: 30, seed: 4n })
    expect(tokens).toEqual(story.slice(1, 31))
  }
})

test('penalties see the prompt and the output', async () => {
  const plain = await engine.fresh({ maxNewTokens: 100 })
  const penalised = await engine.fresh({ maxNewTokens: 100, presencePenalty: 1000 })
  // No token twice: the presence penalty forbids what the output holds.
  expect(new Set(penalised.tokens).size).toBe(100)
  expect(new Set(plain.tokens).size).toBeLessThan(100)
  const [first] = plain.tokens
  const repeated = await engine.fresh({
    prompt: [1, first!],
    maxNewTokens: 1,
    repetitionPenalty: 1000,
  })
  const unrepeated = await engine.fresh({ prompt: [1, first!], maxNewTokens: 1 })
  expect(unrepeated.tokens).toEqual([story[2]])
  expect([1, first]).not.toContain(repeated.tokens[0])
})

test('penalised and plain requests in one batch do not mix', async () => {
  const wanted = await engine.fresh({ maxNewTokens: 60, frequencyPenalty: 2 })
  const sessions = Array.from({ length: 6 }, () => engine.native.createSession())
  const runs = sessions.map((session, index) =>
    engine.start(session, { maxNewTokens: 60, frequencyPenalty: index % 2 === 0 ? 2 : 0 }),
  )
  for (const [index, running] of runs.entries()) {
    await running.finish
    expect(running.tokens).toEqual(index % 2 === 0 ? wanted.tokens : story.slice(1, 61))
    await engine.native.disposeSession(sessions[index]!)
  }
})

test('log-probabilities and alternatives', async () => {
  const { tokens, logprobs, top } = await engine.fresh({ maxNewTokens: 30, topLogprobs: 5 })
  for (const [index, token] of tokens.entries()) {
    const best = top[index]!
    expect(best.tokens).toHaveLength(5)
    expect(best.tokens[0]).toBe(token)
    expect(best.logprobs[0]).toBe(logprobs[index])
    expect([...best.logprobs]).toEqual([...best.logprobs].sort((a, b) => b - a))
    const mass = best.logprobs.reduce((sum, value) => sum + Math.exp(value), 0)
    expect(mass).toBeGreaterThan(0)
    expect(mass).toBeLessThanOrEqual(1.00001)
  }
})

test('requests that ask for different numbers of alternatives each get theirs', async () => {
  const sessions = [0, 3, 20, 1].map((topLogprobs) => ({
    topLogprobs,
    session: engine.native.createSession(),
  }))
  const runs = sessions.map(({ session, topLogprobs }) =>
    engine.start(session, { maxNewTokens: 10, topLogprobs }),
  )
  const full = await engine.fresh({ maxNewTokens: 10, topLogprobs: 20 })
  for (const [index, running] of runs.entries()) {
    await running.finish
    const { topLogprobs, session } = sessions[index]!
    expect(running.tokens).toEqual(story.slice(1, 11))
    for (const [step, best] of running.top.entries()) {
      expect(best === null ? [] : [...best.tokens]).toEqual(
        [...full.top[step]!.tokens].slice(0, topLogprobs),
      )
    }
    await engine.native.disposeSession(session)
  }
})

test('without credits nothing is produced; a grant goes on', async () => {
  const session = engine.native.createSession()
  const running = engine.start(session, { maxNewTokens: 20, credits: 0 })
  await pause(20)
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 1 })
  engine.native.grant(running.id, 3)
  await running.produced(3)
  await pause(20)
  expect(running.tokens).toEqual(story.slice(1, 4))
  expect(engine.native.report()).toMatchObject({ running: 1, waiting: 0 })
  engine.native.grant(running.id, 1)
  await running.produced(4)
  engine.native.grant(running.id, 1000)
  await running.finish
  expect(running.tokens).toEqual(story.slice(1, 21))
  engine.native.grant(running.id, 5) // finished: nothing happens
  await engine.native.disposeSession(session)
})

test('paused requests do not hold up others', async () => {
  const sessions = Array.from({ length: 3 }, () => engine.native.createSession())
  const paused = [
    engine.start(sessions[0]!, { credits: 0 }),
    engine.start(sessions[1]!, { credits: 2 }),
  ]
  await paused[1]!.produced(2)
  const { tokens } = await engine.run(sessions[2]!, { maxNewTokens: 40 })
  expect(tokens).toEqual(story.slice(1, 41))
  for (const [index, { tokens }] of paused.entries()) expect(tokens).toHaveLength(index * 2)
  for (const session of sessions) await engine.native.disposeSession(session)
  for (const { finishes } of paused) expect(finishes).toMatchObject([{ reason: 'cancelled' }])
})

test('timings are in order', async () => {
  const { finishes } = await engine.fresh({ prompt: story.slice(0, 50), maxNewTokens: 5 })
  const { submitted, admitted, firstToken, finished } = finishes[0]!.timings
  expect(submitted).toBeGreaterThan(0)
  expect([submitted, admitted, firstToken, finished]).toEqual(
    [submitted, admitted, firstToken, finished].sort((a, b) => a - b),
  )
  expect(finished).toBeGreaterThan(submitted)
})

test('many tokens come in few deliveries', async () => {
  const before = engine.deliveries
  const runs = Array.from({ length: 8 }, () => engine.fresh({ maxNewTokens: 100 }))
  await Promise.all(runs)
  expect(engine.deliveries - before).toBeLessThan(800)
})
