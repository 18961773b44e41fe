/** The published stories, token for token, however the work is cut up. */
import type { NativeEngineOptions } from '../../lib/native.js'
import { goldens, story } from '../helpers/goldens.js'
import { TestEngine, type Running } from '../helpers/native-engine.js'

async function expectGoldens(options: Partial<NativeEngineOptions>, threads = 1): Promise<void> {
  const engine = await TestEngine.load(options, threads)
  for (const { prompt, output } of goldens) {
    const { tokens } = await engine.fresh({ prompt, maxNewTokens: output.length })
    expect(tokens).toEqual(output)
  }
  engine.native.check()
  await engine.close()
}

test('one session tells the golden stories', async () => {
  const engine = await TestEngine.load()
  for (const { prompt, output } of goldens) {
    const { tokens, finishes } = await engine.fresh({ prompt, maxNewTokens: output.length })
    expect(tokens).toEqual(output)
    expect(finishes[0]).toMatchObject({
      reason: 'length',
      code: '',
      message: '',
      promptTokens: prompt.length,
      cachedTokens: 0,
      outputTokens: output.length,
      logits: null,
    })
  }
  expect(engine.native.deviceId).toBe('cpu')
  await engine.close()
})

test.each([16, 32, 64])('so it does with blocks of %i tokens', async (blockSize) => {
  await expectGoldens({ blockSize })
})

test.each([1, 2, 3, 7, 50])(
  'a prefill in chunks of %i tokens changes nothing',
  async (maxBatchTokens) => {
    const engine = await TestEngine.load({ maxBatchTokens })
    for (const { prompt, output } of goldens) {
      const whole = [...prompt, ...output]
      const given = Math.min(60, whole.length - 20)
      const { tokens } = await engine.fresh({ prompt: whole.slice(0, given), maxNewTokens: 20 })
      expect(tokens).toEqual(whole.slice(given, given + 20))
    }
    expect(engine.native.report().steps).toBeGreaterThanOrEqual(Math.ceil(60 / maxBatchTokens))
    await engine.close()
  },
)

test('two threads tell the same', async () => {
  await expectGoldens({}, 2)
})

test.each([2, 5, 40])('%i sessions at once tell what each tells alone', async (count) => {
  const engine = await TestEngine.load({ maxSequences: 16, maxBatchTokens: 64 })
  const started: { running: Running; output: number[] }[] = []
  for (let index = 0; index < count; index++) {
    const { prompt, output } = goldens[index % goldens.length]!
    // Different cuts of the same stories: every batch mixes prefills and decodes of different lengths.
    const whole = [...prompt, ...output]
    const given = Math.min(1 + index * 3, whole.length - 40)
    const session = engine.native.createSession()
    started.push({
      running: engine.start(session, { prompt: whole.slice(0, given), maxNewTokens: 40 }),
      output: whole.slice(given, given + 40),
    })
  }
  for (const { running, output } of started) {
    await running.finish
    expect(running.tokens).toEqual(output)
  }
  engine.native.check()
  await engine.close()
})

test('a step of the CPU takes 256 tokens unless told otherwise', async () => {
  const engine = await TestEngine.load({ maxBatchTokens: undefined })
  expect(story.length).toBeGreaterThanOrEqual(257)
  await engine.fresh({ prompt: story.slice(0, 257), maxNewTokens: 1 })
  expect(engine.native.report().steps).toBe(2)
  await engine.fresh({ prompt: story.slice(0, 256), maxNewTokens: 1 })
  expect(engine.native.report().steps).toBe(3)
  await engine.close()
})

test('more than maxBatchTokens sequences are never run at once', async () => {
  const engine = await TestEngine.load({ maxSequences: 16, maxBatchTokens: 3 })
  const { output } = goldens[0]!
  const runs = Array.from({ length: 8 }, () =>
    engine.start(engine.native.createSession(), { maxNewTokens: 25 }),
  )
  expect(engine.native.report().running).toBeLessThanOrEqual(3)
  for (const running of runs) {
    await running.finish
    expect(running.tokens).toEqual(output.slice(0, 25))
  }
  await engine.close()
})
