import type { GenerationDefaults } from '../../../lib/checkpoint/types.js'
import {
  newTokens,
  readChatOptions,
  readGenerateOptions,
} from '../../../lib/options/generate-settings.js'
import type { ModelLimits } from '../../../lib/options/model-limits.js'
import { refusal } from '../../refusal.js'

const limits = (defaults: GenerationDefaults = { greedy: true }): ModelLimits => ({
  vocabularySize: 100,
  contextLength: 64,
  eosTokenIds: [1, 2],
  defaults,
  hasTokenizer: true,
})

/** `[, value]`, with a hole that most methods of arrays pass over. */
const holed = (value: unknown): unknown[] => Object.assign(new Array<unknown>(2), { 1: value })

describe('generate options', () => {
  it('is greedy where the model does not ask for sampling', () => {
    const { sampling, ...rest } = readGenerateOptions(undefined, limits())
    expect(sampling).toMatchObject({
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      topLogprobs: 0,
      priority: 0,
    })
    expect([...sampling.stopTokens]).toEqual([1, 2])
    expect(rest).toEqual({
      maxNewTokens: null,
      n: 1,
      stop: [],
      logprobs: null,
      keepSpecialTokens: false,
      signal: undefined,
    })
  })

  it("follows the model's own sampling, and the options before it", () => {
    const own = { greedy: false, temperature: 0.6, topK: 20, topP: 0.95, repetitionPenalty: 1.1 }
    const { greedy: _, ...sampled } = own
    expect(readGenerateOptions({}, limits(own)).sampling).toMatchObject(sampled)
    const given = { temperature: 0, topK: 0, topP: 1, repetitionPenalty: 1 }
    expect(readGenerateOptions(given, limits(own)).sampling).toMatchObject(given)
    expect(readGenerateOptions({}, limits({ greedy: false })).sampling.temperature).toBe(1)
  })

  it('draws a new seed each time, and keeps a given one exactly', () => {
    const drawn = (): bigint => readGenerateOptions({}, limits()).sampling.seed
    expect(drawn()).not.toBe(drawn())
    expect(readGenerateOptions({ seed: 7 }, limits()).sampling.seed).toBe(7n)
    const most = 2n ** 64n - 1n
    expect(readGenerateOptions({ seed: most }, limits()).sampling.seed).toBe(most)
  })

  it('reads biases from an object and from a Map', () => {
    const map = new Map([
      [5, -Infinity],
      [7, 2],
    ])
    for (const logitBias of [{ 5: -Infinity, 7: 2 }, map]) {
      const { sampling } = readGenerateOptions({ logitBias }, limits())
      expect([...sampling.biasTokens]).toEqual([5, 7])
      expect([...sampling.biasValues]).toEqual([-Infinity, 2])
    }
  })

  it('joins stop tokens with the EOS set, or replaces it', () => {
    const stopTokens = (options: object): number[] => [
      ...readGenerateOptions(options, limits()).sampling.stopTokens,
    ]
    expect(stopTokens({ stopTokens: [9, 2] })).toEqual([1, 2, 9])
    expect(stopTokens({ stopTokens: [9], ignoreEos: true })).toEqual([9])
    expect(stopTokens({ ignoreEos: true })).toEqual([])
  })

  it('takes one stop string or several', () => {
    expect(readGenerateOptions({ stop: 'x' }, limits()).stop).toEqual(['x'])
    expect(readGenerateOptions({ stop: ['x', 'y', 'x'] }, limits()).stop).toEqual(['x', 'y'])
  })

  it('tells log-probabilities asked for with 0 from none', () => {
    expect(readGenerateOptions({ logprobs: 0 }, limits()).logprobs).toBe(0)
    expect(readGenerateOptions({ logprobs: 5 }, limits()).sampling.topLogprobs).toBe(5)
  })

  it.each([
    [{ maxNewToken: 5 }, 'unknown option maxNewToken; did you mean maxNewTokens?'],
    [{ top_p: 0.9 }, 'did you mean topP?'],
    [{ stopToken: [1] }, 'did you mean stopTokens?'],
    [{ tools: [] }, 'unknown option tools'],
  ])('names the unknown option of %j', (options, sentence) => {
    expect(() => readGenerateOptions(options, limits())).toThrow(
      refusal('OCTAVO_UNKNOWN_OPTION', sentence),
    )
  })

  it.each([
    [{ maxNewTokens: 0 }, 'maxNewTokens is 0; it must be an integer from 1'],
    [{ maxNewTokens: NaN }, 'maxNewTokens is NaN'],
    [{ maxNewTokens: 1.5 }, 'maxNewTokens is 1.5'],
    [{ temperature: -0.1 }, 'temperature is -0.1; it must be a number from 0 to 100'],
    [{ temperature: NaN }, 'temperature is NaN'],
    [{ temperature: '1' }, 'temperature is "1"'],
    [{ topP: 0 }, 'topP is 0; it must be a number above 0, up to 1'],
    [{ topP: 1e-300 }, 'topP is 1e-300; it must be a number above 0, up to 1 in fp32'],
    [{ topP: 1.01 }, 'topP is 1.01'],
    [{ topK: -1 }, 'topK is -1'],
    [{ minP: 2 }, 'minP is 2'],
    [{ repetitionPenalty: 0 }, 'repetitionPenalty is 0'],
    [{ repetitionPenalty: 1e-60 }, 'repetitionPenalty is 1e-60; it must be a number above 0'],
    [{ frequencyPenalty: Infinity }, 'frequencyPenalty is Infinity'],
    [{ presencePenalty: null }, 'presencePenalty is null'],
    [{ seed: -1 }, 'seed is -1'],
    [{ seed: 1.5 }, 'seed is 1.5'],
    [{ seed: 2n ** 64n }, 'seed is 18446744073709551616n'],
    [{ logitBias: { 100: 1 } }, 'a token of logitBias is 100; it must be a token id of this model'],
    [{ logitBias: { a: 1 } }, 'a token of logitBias is "a"'],
    [{ logitBias: { '': 1 } }, 'a token of logitBias is ""'],
    [{ logitBias: { '1e1': 1 } }, 'a token of logitBias is "1e1"'],
    [{ logitBias: { '0x10': 1 } }, 'a token of logitBias is "0x10"'],
    [{ logitBias: { '01': 1 } }, 'a token of logitBias is "01"'],
    [{ logitBias: { ' 1': 1 } }, 'a token of logitBias is " 1"'],
    [{ logitBias: new Set([5]) }, 'logitBias is an object (Set); it must be an object or a Map'],
    [{ logitBias: new Date() }, 'logitBias is an object (Date)'],
    [{ logitBias: Float32Array.of(1) }, 'logitBias is an object (Float32Array)'],
    [{ logitBias: { 5: 1e300 } }, 'logitBias[5] is 1e+300; it must be a finite number in fp32'],
    [{ logitBias: { 5: NaN } }, 'logitBias[5] is NaN'],
    [{ logitBias: { 5: Infinity } }, 'logitBias[5] is Infinity'],
    [{ logitBias: [1] }, 'logitBias is an array'],
    [{ stop: '' }, 'stop is ""; it must be a non-empty string'],
    [{ stop: ['a', ''] }, 'stop is an array of 2'],
    [{ stop: holed('x') }, 'stop is an array of 2'],
    [{ stop: 5 }, 'stop is 5'],
    [{ stop: null }, 'stop is null'],
    [{ logitBias: null }, 'logitBias is null'],
    [{ stopTokens: null }, 'stopTokens is null'],
    [{ stopTokens: [-1] }, 'stopTokens[0] is -1'],
    [{ stopTokens: new Array(1) }, 'stopTokens[0] is undefined'],
    [{ stopTokens: holed(4) }, 'stopTokens[0] is undefined'],
    [{ stopTokens: 3 }, 'stopTokens is 3'],
    [{ ignoreEos: 1 }, 'ignoreEos is 1; it must be true or false'],
    [{ logprobs: 21 }, 'logprobs is 21; it must be an integer from 0 to 20'],
    [{ keepSpecialTokens: 'yes' }, 'keepSpecialTokens is "yes"'],
    [{ signal: 1 }, 'signal is 1'],
  ])('refuses %p', (options, sentence) => {
    expect(() => readGenerateOptions(options, limits())).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', sentence),
    )
  })

  it('refuses stop strings without a tokenizer', () => {
    expect(() => readGenerateOptions({ stop: 'x' }, { ...limits(), hasTokenizer: false })).toThrow(
      refusal('OCTAVO_NO_TOKENIZER', 'pass stopTokens'),
    )
  })
})

describe('chat options', () => {
  it('lets the template have its own', () => {
    const own = { addGenerationPrompt: false, tools: [], variables: { thinking: true } }
    expect(readChatOptions({ ...own, topK: 3 }, limits()).settings.sampling.topK).toBe(3)
  })

  it.each([
    [{ addGenerationPrompt: 1 }, 'addGenerationPrompt is 1'],
    [{ tools: {} }, 'tools is an object'],
    [{ variables: 3 }, 'variables is 3'],
  ])('refuses %j', (options, sentence) => {
    expect(() => readChatOptions(options, limits())).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', sentence),
    )
  })
})

describe('the number of new tokens', () => {
  const plenty = (): number => 1e9

  it('defaults to no more than there is room for, which bounds nothing that was asked for', () => {
    expect(newTokens(null, 10, limits(), () => 7)).toBe(7)
    expect(newTokens(20, 10, limits(), () => 7)).toBe(20)
  })

  it('defaults to 512, or what the model says, cut to what the context leaves', () => {
    const long = { ...limits(), contextLength: 10_000 }
    expect(newTokens(null, 10, long, plenty)).toBe(512)
    const own = { ...long, defaults: { greedy: true, maxNewTokens: 77 } }
    expect(newTokens(null, 10, own, plenty)).toBe(77)
    expect(newTokens(null, 60, limits(), plenty)).toBe(4)
  })

  it('may fill the context exactly', () => expect(newTokens(4, 60, limits(), plenty)).toBe(4))

  it('refuses more, with all the numbers', () => {
    const together = 'has 60 tokens and maxNewTokens is 5: together 65, and this model'
    expect(() => newTokens(5, 60, limits(), plenty)).toThrow(
      refusal('OCTAVO_CONTEXT_EXCEEDED', together),
    )
    const alone = "has 64 tokens and this model's context is 64; shorten the prompt to at most 63"
    expect(() => newTokens(null, 64, limits(), plenty)).toThrow(
      refusal('OCTAVO_CONTEXT_EXCEEDED', alone),
    )
  })
})
