/** Score requests: fp32 logits of every position of a prompt. */
import { story } from '../helpers/goldens.js'
import {
  blockBytes,
  TestEngine,
  type RequestOptions,
  type Running,
} from '../helpers/native-engine.js'

const vocabulary = 512
const score: RequestOptions = { score: true, maxNewTokens: 0, credits: 0 }

function row(logits: Float32Array, position: number): Float32Array {
  return logits.subarray(position * vocabulary, (position + 1) * vocabulary)
}

function argmax(values: Float32Array): number {
  return values.reduce((best, value, index) => (value > values[best]! ? index : best), 0)
}

function logprob(values: Float32Array, token: number): number {
  const largest = values.reduce((best, value) => Math.max(best, value), -Infinity)
  const sum = values.reduce((total, value) => total + Math.exp(value - largest), 0)
  return values[token]! - largest - Math.log(sum)
}

test('are the logits that generation samples from', async () => {
  const engine = await TestEngine.load()
  const generated = await engine.fresh({ maxNewTokens: 200 })
  const { finishes, tokens } = await engine.fresh({ ...score, prompt: story.slice(0, 200) })
  const { logits, reason, outputTokens, promptTokens } = finishes[0]!
  expect({ reason, outputTokens, promptTokens, tokens }).toEqual({
    reason: 'length',
    outputTokens: 0,
    promptTokens: 200,
    tokens: [],
  })
  expect(logits).toHaveLength(200 * vocabulary)
  for (let position = 0; position < 199; position++) {
    const values = row(logits!, position)
    expect(argmax(values)).toBe(story[position + 1])
    expect(logprob(values, story[position + 1]!)).toBeCloseTo(generated.logprobs[position]!, 4)
  }
  engine.native.check()
  await engine.close()
})

test.each([
  [1, 1],
  [5, 2],
  [64, 16],
  [512, 300],
])(
  'do not depend on the chunks: maxBatchTokens %i, maxSequences %i',
  async (maxBatchTokens, maxSequences) => {
    const whole = await TestEngine.load()
    const cut = await TestEngine.load({ maxBatchTokens, maxSequences })
    const prompt = story.slice(0, 130)
    const [expected, actual] = [
      await whole.fresh({ ...score, prompt }),
      await cut.fresh({ ...score, prompt }),
    ]
    const { logits } = actual.finishes[0]!
    expect(logits).toHaveLength(130 * vocabulary)
    const worst = logits!.reduce(
      (most, value, index) =>
        Math.max(most, Math.abs(value - expected.finishes[0]!.logits![index]!)),
      0,
    )
    expect(worst).toBeLessThan(1e-4)
    whole.native.dispose()
    await cut.close()
  },
)

test('next to generations: neither disturbs the other', async () => {
  const engine = await TestEngine.load({ maxBatchTokens: 32 })
  const wanted = (await engine.fresh({ ...score, prompt: story.slice(0, 90) })).finishes[0]!.logits!
  const runs = Array.from({ length: 12 }, (_, index) => {
    const isScore = index % 3 === 0
    const prompt = story.slice(0, isScore ? 90 : 20 + index)
    return {
      isScore,
      given: prompt.length,
      running: engine.start(engine.native.createSession(), {
        ...(isScore ? score : { maxNewTokens: 40 }),
        prompt,
      }),
    }
  })
  for (const { isScore, given, running } of runs) {
    const { logits } = await running.finish
    if (isScore)
      expect(
        Math.max(...logits!.map((value, index) => Math.abs(value - wanted[index]!))),
      ).toBeLessThan(1e-4)
    else expect(running.tokens).toEqual(story.slice(given, given + 40))
  }
  engine.native.check()
  await engine.close()
})

test('in a session with KV recompute it, and leave KV that a turn can use', async () => {
  const engine = await TestEngine.load()
  const session = engine.native.createSession()
  await engine.run(session, { prompt: story.slice(0, 50), maxNewTokens: 5 })
  const scored = await engine.run(session, { ...score, prompt: story.slice(0, 50) })
  expect(scored.finishes[0]).toMatchObject({ cachedTokens: 0, promptTokens: 50 })
  const turn = await engine.run(session, { prompt: story.slice(0, 60), maxNewTokens: 20 })
  expect(turn.finishes[0]!.cachedTokens).toBe(50)
  expect(turn.tokens).toEqual(story.slice(60, 80))
  await engine.close()
})

test('cancelled in the middle, or their session disposed, give no logits', async () => {
  const engine = await TestEngine.load({
    maxBatchTokens: 8,
    maxSequences: 8,
    testing: { stepMicroseconds: 20_000 }, // half a second of chunks
  })
  const session = engine.native.createSession()
  const cancelled = engine.start(session, { ...score, prompt: story.slice(0, 200) })
  while (engine.native.report().steps < 3);
  engine.native.cancel(cancelled.id)
  expect(await cancelled.finish).toMatchObject({ reason: 'cancelled', logits: null })
  const disposed = engine.start(session, { ...score, prompt: story.slice(0, 200) })
  while (engine.native.report().steps < 6);
  await engine.native.disposeSession(session)
  expect(await disposed.finish).toMatchObject({ reason: 'cancelled', logits: null })
  engine.native.check()
  await engine.close()
})

test.each([false, true])(
  'preempted and computed again, give every logit once: overlap %s',
  async (overlap) => {
    const prompt = story.slice(0, 100)
    const alone = await TestEngine.load()
    const { logits } = (await alone.fresh({ ...score, prompt })).finishes[0]!
    await alone.close()
    // Beside three that decode, it computes a token a step; they grow, and take its blocks.
    const engine = await TestEngine.load({
      kvBytes: 10 * blockBytes(),
      maxBatchTokens: 4,
      maxSequences: 4,
      admission: 'optimistic',
      overlap,
      testing: { stepMicroseconds: 10_000 }, // a quarter of a second until it would be done alone
    })
    const start = (options: RequestOptions): Running =>
      engine.start(engine.native.createSession(), options)
    const scored = start({ ...score, prompt })
    const others = [5, 6, 7].map((given) =>
      start({ prompt: story.slice(0, given), maxNewTokens: 60, priority: 1 }),
    )
    await Promise.all([scored, ...others].map(({ finish }) => finish))
    expect(engine.native.report().preemptions).toBeGreaterThan(0)
    others.forEach(({ tokens }, index) => {
      expect(tokens).toEqual(story.slice(5 + index, 65 + index))
    })
    expect(scored.finishes[0]!.logits).toEqual(logits)
    engine.native.check()
    await engine.close()
  },
)
