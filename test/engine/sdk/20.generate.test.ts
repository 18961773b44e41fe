import type { Engine, ErrorCode, GenerateOptions, Generation, Prompt } from '../../../lib/index.js'
import { refusal } from '../../refusal.js'
import { continuation, expectNothingLive, golden, loadStories } from './support.js'

let engine: Engine
beforeAll(async () => {
  engine = await loadStories()
})
afterAll(() => {
  engine.check()
  engine.dispose()
  expectNothingLive()
})

/** Logarithm of the softmax of one row of logits, at one token. */
function logSoftmax(row: Float32Array, token: number): number {
  const most = row.reduce((a, b) => Math.max(a, b))
  const sum = row.reduce((total, logit) => total + Math.exp(logit - most), 0)
  return row[token]! - most - Math.log(sum)
}

async function textOf(run: Generation): Promise<string> {
  let text = ''
  for await (const piece of run) text += piece.text
  return text
}

describe('greedy', () => {
  it.each(golden)('continues %j token for token as the reference', async (story) => {
    using session = engine.createSession()
    const prompt = engine.tokenizer!.encode(story.prompt)
    const expected = continuation(story, prompt.length)
    const run = session.generate(story.prompt, { maxNewTokens: expected.length })
    const text = await textOf(run)
    const result = await run.result
    expect(result.tokens).toEqual(expected)
    expect(result.text).toBe(text)
    expect(engine.tokenizer!.decode([...prompt, ...expected])).toBe(story.prompt + text)
    expect(result.finishReason).toBe('length')
    expect(result.usage).toEqual({
      promptTokens: prompt.length,
      cachedTokens: 0,
      completionTokens: expected.length,
    })
  })

  it('gives the same from ids, from typed arrays, and without iterating', async () => {
    const ids = [1, 403, 407, 261, 378]
    for (const prompt of ['Once upon a time', ids, Int32Array.from(ids)]) {
      using session = engine.createSession()
      const { tokens } = await session.generate(prompt, { maxNewTokens: 12 }).result
      expect(tokens).toEqual(golden[0].ids.slice(5, 17))
    }
  })

  it('gives pieces whose texts and tokens are the result', async () => {
    using session = engine.createSession()
    const run = session.generate('Lily', { maxNewTokens: 40 })
    const pieces = []
    for await (const piece of run) pieces.push(piece)
    const { text, tokens } = await run.result
    expect(pieces.map((piece) => piece.text).join('')).toBe(text)
    expect(pieces.flatMap((piece) => piece.tokens)).toEqual(tokens)
  })
})

describe('figures', () => {
  it('are in order', async () => {
    using session = engine.createSession()
    const { timings } = await session.generate('Tom', { maxNewTokens: 20 }).result
    const { queueMs, firstTokenMs, totalMs, tokensPerSecond } = timings
    expect(queueMs).toBeGreaterThanOrEqual(0)
    expect(firstTokenMs).toBeGreaterThanOrEqual(queueMs)
    expect(totalMs).toBeGreaterThan(firstTokenMs!)
    expect(totalMs).toBeLessThan(60_000)
    expect(tokensPerSecond).toBeGreaterThan(1)
  })

  it("follow the logits: each token's log-probability, the likeliest first", async () => {
    using session = engine.createSession()
    const prompt = [1, 403, 407]
    const { tokens, logprobs } = await session.generate(prompt, { maxNewTokens: 5, logprobs: 4 })
      .result
    const { data, columns } = await engine.logits([...prompt, ...tokens])
    expect(logprobs).toHaveLength(5)
    logprobs!.forEach(({ token, logprob, top }, i) => {
      const row = data.subarray((2 + i) * columns, (3 + i) * columns)
      expect(token).toBe(tokens[i])
      expect(logprob).toBeCloseTo(logSoftmax(row, token), 3)
      expect(top).toHaveLength(4)
      expect(top[0]).toEqual({ token, logprob })
      const ordered = top.map((entry) => entry.logprob)
      expect(ordered).toEqual([...ordered].sort((a, b) => b - a))
    })
  })
})

describe('sampling', () => {
  const sample = async (options: object): Promise<string> => {
    using session = engine.createSession()
    return (
      await session.generate('One day', { maxNewTokens: 30, temperature: 1, ...options }).result
    ).text
  }

  it('repeats itself with a seed and varies without one', async () => {
    const texts = await Promise.all([sample({ seed: 5 }), sample({ seed: 5 }), sample({ seed: 6 })])
    expect(texts[0]).toBe(texts[1])
    expect(texts[0]).not.toBe(texts[2])
    expect(await sample({})).not.toBe(await sample({}))
  })

  it('with topK 1, a tiny topP or minP 1 is greedy', async () => {
    const greedy = await sample({ temperature: 0 })
    for (const options of [{ topK: 1 }, { topP: 1e-6 }, { minP: 1 }]) {
      expect(await sample(options)).toBe(greedy)
    }
  })

  it('obeys a bias', async () => {
    using session = engine.createSession()
    const prompt = [1, 403, 407]
    const forbidden = await session.generate(prompt, {
      maxNewTokens: 1,
      logitBias: { 261: -Infinity },
    }).result
    expect(forbidden.tokens).not.toEqual([261])
    const forced = await session.generate(prompt, {
      maxNewTokens: 3,
      logitBias: new Map([[300, 1e4]]),
    }).result
    expect(forced.tokens).toEqual([300, 300, 300])
  })

  it('obeys the penalties', async () => {
    const plain = await sample({ temperature: 0 })
    for (const options of [
      { repetitionPenalty: 1.8 },
      { frequencyPenalty: 5 },
      { presencePenalty: 5 },
    ]) {
      expect(await sample({ temperature: 0, ...options })).not.toBe(plain)
    }
  })
})

describe('logits', () => {
  it('are those of every position', async () => {
    const ids = golden[0].ids.slice(0, 40)
    const { rows, columns, data } = await engine.logits(ids)
    expect([rows, columns, data.length]).toEqual([40, 512, 40 * 512])
    const prompt = 5
    for (let row = prompt - 1; row < rows - 1; row++) {
      const logits = data.subarray(row * columns, (row + 1) * columns)
      expect(logits.indexOf(Math.max(...logits))).toBe(ids[row + 1])
    }
  })

  it('leave nothing behind', async () => {
    const before = engine.memory().kv.freeBlocks
    await engine.logits('Once upon a time')
    expect(engine.memory().sessions).toEqual([])
    expect(engine.memory().kv.freeBlocks).toBe(before)
  })

  it('refuse what does not fit, and wrong arguments', async () => {
    await expect(engine.logits([])).rejects.toEqual(refusal('OCTAVO_INVALID_ARGUMENT'))
    await expect(engine.logits([512])).rejects.toEqual(refusal('OCTAVO_INVALID_ARGUMENT', '512'))
    await expect(engine.logits(Array<number>(513).fill(1))).rejects.toEqual(
      refusal('OCTAVO_CONTEXT_EXCEEDED', 'has 513 tokens'),
    )
    await expect(engine.logits([1], { signal: AbortSignal.abort('no') })).rejects.toBe('no')
    await expect(engine.logits([1], { sign: 1 } as object)).rejects.toEqual(
      refusal('OCTAVO_UNKNOWN_OPTION', 'did you mean signal?'),
    )
    expect((await engine.logits(Array<number>(512).fill(1))).rows).toBe(512)
  })
})

describe('a generation that is refused', () => {
  it.each<[Prompt, GenerateOptions, ErrorCode, string]>([
    [[1, 2], { maxNewTokens: 0 }, 'OCTAVO_INVALID_ARGUMENT', 'maxNewTokens is 0'],
    [[1, 2], { maxNewTokens: 511 }, 'OCTAVO_CONTEXT_EXCEEDED', 'together 513'],
    [Array<number>(512).fill(1), {}, 'OCTAVO_CONTEXT_EXCEEDED', 'has 512 tokens'],
    [[], {}, 'OCTAVO_INVALID_ARGUMENT', 'no tokens'],
    [[1], { temperature: NaN }, 'OCTAVO_INVALID_ARGUMENT', 'temperature is NaN'],
    [[1], { maxNewToken: 1 } as object, 'OCTAVO_UNKNOWN_OPTION', 'did you mean maxNewTokens?'],
  ])('%j with %j', (prompt, options, code, sentence) => {
    using session = engine.createSession()
    expect(() => session.generate(prompt, options)).toThrow(refusal(code, sentence))
    expect(session.memory().bytes).toBe(0)
  })

  it('because the session is busy leaves the one that runs alone', async () => {
    using session = engine.createSession()
    // It waits for credits, however fast the machine: nobody takes its pieces.
    const first = session.generate('Tom', { maxNewTokens: 300, ignoreEos: true })
    await first.next()
    await expect(session.generate('Sam').result).rejects.toEqual(refusal('OCTAVO_SESSION_BUSY'))
    expect((await first.result).usage.completionTokens).toBe(300)
  })

  it('because there is no chat template', () => {
    using session = engine.createSession()
    expect(() => session.chat([{ role: 'user', content: 'x' }])).toThrow(
      refusal('OCTAVO_NO_CHAT_TEMPLATE'),
    )
  })
})

it('fills the context exactly', async () => {
  using session = engine.createSession()
  const options = { ignoreEos: true }
  const { usage, finishReason } = await session.generate(Array<number>(500).fill(300), options)
    .result
  expect(usage.completionTokens).toBe(12)
  expect(finishReason).toBe('length')
})
