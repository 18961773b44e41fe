/** SmolLM2-135M on a device, held to transformers' ids, logits, likelihood and answers. */
import { Engine, type EngineOptions, type Logits } from '../../lib/index.js'
import { compareGreedy } from './compare.js'
import { smollm2Folder, smollm2Golden, type ChatCase, type Smollm2Golden } from './smollm2-model.js'
import { expectNothingLive } from '../helpers/nothing-live.js'

export interface Smollm2Run {
  device: string
  dtype: NonNullable<EngineOptions['dtype']>
  /** Largest error that this dtype may make in one of the first logits, and the root of the mean square of all. */
  logitError: number
  logitRms: number
  /** A margin below this may rightly be decided differently. */
  doubt: number
  /** Largest error of the passage's mean negative log-likelihood. */
  likelihoodError: number
  /** Share of greedy steps whose margin must be clear for the test to say something. */
  clearShare: number
}

const row = ({ data, columns }: Logits, i: number): Float32Array =>
  data.subarray(i * columns, (i + 1) * columns)

const argmax = (logits: Float32Array): number =>
  logits.reduce((best, logit, id) => (logit > logits[best]! ? id : best), 0)

function negativeLogLikelihood(logits: Float32Array, token: number): number {
  const most = logits.reduce((a, b) => Math.max(a, b))
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0)
  return Math.log(sum) + most - logits[token]!
}

/** Skips, visibly, where the model's data is absent. */
export function testSmollm2(name: string, run: Smollm2Run): void {
  const golden = smollm2Golden()
  if (golden === null) {
    test.skip(`${name}: SmolLM2-135M is not beside the repository`, () => {})
    return
  }
  describe(name, () => defineTests(golden, run))
}

function defineTests({ cases, passage }: Smollm2Golden, run: Smollm2Run): void {
  let engine: Engine
  beforeAll(async () => {
    const { device, dtype } = run
    const options = { device, dtype, memory: { kv: 256 * 2 ** 20 }, maxSequences: 8 }
    engine = await Engine.load(smollm2Folder()!, options)
  })
  afterAll(() => {
    engine.check()
    engine.dispose()
    expectNothingLive()
  })

  test.each(cases)('ids of %#', ({ text, ids }) => {
    expect(engine.tokenizer!.encode(text, { addSpecialTokens: false })).toEqual(ids)
  })

  test('first logits: the eight largest', async () => {
    const errors: number[] = []
    for (const { ids, firstTop8 } of cases) {
      const last = row(await engine.logits(ids), ids.length - 1)
      errors.push(...firstTop8.ids.map((id, i) => Math.abs(last[id]! - firstTop8.logits[i]!)))
    }
    expect(Math.max(...errors)).toBeLessThanOrEqual(run.logitError)
    const squares = errors.reduce((sum, error) => sum + error ** 2, 0)
    expect(Math.sqrt(squares / errors.length)).toBeLessThanOrEqual(run.logitRms)
  })

  test('greedy, all prompts in one batch: the same ids until a margin is doubtful', async () => {
    const generated = await Promise.all(
      cases.map(async ({ ids, greedy }) => {
        await using session = engine.createSession()
        return (await session.generate(ids, { maxNewTokens: greedy.length }).result).tokens
      }),
    )
    cases.forEach(({ greedy, margin }, i) => {
      const { decided, agreed } = compareGreedy(generated[i]!, greedy, margin, run.doubt)
      expect(agreed).toBe(decided)
    })
  })

  test('every step after the golden tokens before it: the same id where the margin is clear', async () => {
    for (const { ids, greedy, margin } of cases) {
      const logits = await engine.logits([...ids, ...greedy])
      const steps = greedy.map((id, step) => ({ id, step }))
      const clear = steps.filter(({ step }) => margin[step]! >= run.doubt)
      expect(clear.length).toBeGreaterThan(run.clearShare * greedy.length)
      const chosen = clear.map(({ step }) => argmax(row(logits, ids.length - 1 + step)))
      expect(chosen).toEqual(clear.map(({ id }) => id))
    }
  })

  test('mean negative log-likelihood of the passage', async () => {
    const logits = await engine.logits(passage.ids)
    const following = passage.ids.slice(1)
    const losses = following.map((id, i) => negativeLogLikelihood(row(logits, i), id))
    const mean = losses.reduce((sum, loss) => sum + loss, 0) / losses.length
    expect(Math.abs(mean - passage.meanNll)).toBeLessThanOrEqual(run.likelihoodError)
  })

  const chats = cases.filter((one): one is ChatCase => one.kind === 'chat')

  test.each(chats)('chat %#', async ({ prompt, ids, greedy, margin, completion }) => {
    await using session = engine.createSession()
    const { text, tokens, usage, finishReason } = await session.chat(prompt).result
    expect(usage.promptTokens).toBe(ids.length)
    const { decided, agreed } = compareGreedy(tokens, greedy, margin, run.doubt)
    expect(agreed).toBe(decided)
    expect(finishReason).toBe('stop')
    if (decided === greedy.length) expect(text).toBe(completion)
  })

  test('a second turn computes only what is new, and answers as a fresh session does', async () => {
    await using session = engine.createSession()
    await using fresh = engine.createSession()
    const [{ prompt }] = chats as [ChatCase]
    const options = { maxNewTokens: 24 }
    const first = await session.chat(prompt, options).result
    const answer = { role: 'assistant', content: first.text }
    const messages = [...prompt, answer, { role: 'user', content: 'And a fourth?' }]
    const second = await session.chat(messages, options).result
    expect(second.usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens)
    const whole = await fresh.chat(messages, options).result
    expect(whole.usage).toMatchObject({ cachedTokens: 0, promptTokens: second.usage.promptTokens })
    if (run.dtype === 'fp32' || run.device === 'cpu') expect(second.text).toBe(whole.text)
  })
}
