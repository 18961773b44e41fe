/** Checks GenerateOptions and fills in the defaults: options, then generation_config.json, then ours. */
import { randomBytes } from 'node:crypto'
import { OctavoError } from '../errors.js'
import type { NativeRequest } from '../native.js'
import type { ChatOptions, GenerateOptions } from './generate-options.js'
import type { ModelLimits } from './model-limits.js'
import type { ChatTemplateOptions } from '../text/types.js'
import { isArray, OptionReader, type Range } from './reader.js'
import { readTimeouts } from './session-options.js'
import { readBias, readStopStrings, readStopTokens } from './token-options.js'

/** The part of a native request that the options decide. */
export type SamplingSettings = Omit<
  NativeRequest,
  'prompt' | 'maxNewTokens' | 'score' | 'credits' | 'samples'
>

export interface GenerateSettings {
  sampling: SamplingSettings
  /** null: the default, cut to what the context leaves */
  maxNewTokens: number | null
  stop: string[]
  /** null: none asked for */
  logprobs: number | null
  keepSpecialTokens: boolean
  /** samples */
  n: number
  signal: AbortSignal | undefined
}

const generateNames: Record<keyof GenerateOptions, true> = {
  maxNewTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  minP: true,
  repetitionPenalty: true,
  frequencyPenalty: true,
  presencePenalty: true,
  logitBias: true,
  seed: true,
  n: true,
  stop: true,
  stopTokens: true,
  ignoreEos: true,
  logprobs: true,
  priority: true,
  timeouts: true,
  keepSpecialTokens: true,
  signal: true,
}
const chatNames: Record<keyof ChatOptions, true> = {
  ...generateNames,
  addGenerationPrompt: true,
  tools: true,
  variables: true,
}

/** What the numbers may be. */
export const ranges = {
  maxNewTokens: { min: 1, max: 2 ** 31 - 1 },
  temperature: { min: 0, max: 100 },
  topP: { above: 0, max: 1, single: true },
  topK: { min: 0, max: 2 ** 31 - 1 },
  minP: { min: 0, max: 1 },
  repetitionPenalty: { above: 0, max: 100, single: true },
  frequencyPenalty: { min: -100, max: 100 },
  presencePenalty: { min: -100, max: 100 },
  logprobs: { min: 0, max: 20 },
  n: { min: 1, max: 256 },
  priority: { min: -(2 ** 31), max: 2 ** 31 - 1 },
} as const satisfies Record<string, Range>

type Reader = OptionReader<GenerateOptions>

function readSeed(read: Reader): bigint {
  const seed = read.raw('seed')
  if (seed === undefined) return randomBytes(8).readBigUInt64LE()
  if (Number.isSafeInteger(seed) && (seed as number) >= 0) return BigInt(seed as number)
  if (typeof seed === 'bigint' && seed >= 0n && seed < 2n ** 64n) return seed
  throw read.invalid('seed', 'an integer from 0 to 2^53 − 1, or a bigint from 0n below 2n ** 64n')
}

function readSampling(read: Reader, limits: ModelLimits): SamplingSettings {
  const { defaults } = limits
  const bias = readBias(read, limits.vocabularySize)
  const stages = readTimeouts(read.raw('timeouts'))
  return {
    temperature:
      read.number('temperature', ranges.temperature) ??
      (defaults.greedy ? 0 : (defaults.temperature ?? 1)),
    topK: read.integer('topK', ranges.topK) ?? defaults.topK ?? 0,
    topP: read.number('topP', ranges.topP) ?? defaults.topP ?? 1,
    minP: read.number('minP', ranges.minP) ?? 0,
    repetitionPenalty:
      read.number('repetitionPenalty', ranges.repetitionPenalty) ?? defaults.repetitionPenalty ?? 1,
    frequencyPenalty: read.number('frequencyPenalty', ranges.frequencyPenalty) ?? 0,
    presencePenalty: read.number('presencePenalty', ranges.presencePenalty) ?? 0,
    seed: readSeed(read),
    biasTokens: bias.tokens,
    biasValues: bias.values,
    stopTokens: readStopTokens(read, limits),
    topLogprobs: read.integer('logprobs', ranges.logprobs) ?? 0,
    ...(stages !== null && { stages }),
    priority: read.integer('priority', ranges.priority) ?? 0,
  }
}

function readSettings(read: Reader, limits: ModelLimits): GenerateSettings {
  return {
    sampling: readSampling(read, limits),
    maxNewTokens: read.integer('maxNewTokens', ranges.maxNewTokens) ?? null,
    stop: readStopStrings(read, limits.hasTokenizer),
    logprobs: read.integer('logprobs', ranges.logprobs) ?? null,
    keepSpecialTokens: read.boolean('keepSpecialTokens') ?? false,
    n: read.integer('n', ranges.n) ?? 1,
    signal: read.signal('signal'),
  }
}

/** Throws OCTAVO_UNKNOWN_OPTION, OCTAVO_INVALID_ARGUMENT, OCTAVO_NO_TOKENIZER. */
export function readGenerateOptions(options: unknown, limits: ModelLimits): GenerateSettings {
  return readSettings(new OptionReader<GenerateOptions>(options, generateNames), limits)
}

export interface ChatSettings {
  settings: GenerateSettings
  template: ChatTemplateOptions
}

/** The same for `session.chat`, whose template options may stand among them. */
export function readChatOptions(options: unknown, limits: ModelLimits): ChatSettings {
  const read = new OptionReader<ChatOptions>(options, chatNames)
  const addGenerationPrompt = read.boolean('addGenerationPrompt')
  const tools = read.raw('tools')
  if (tools !== undefined && !isArray(tools)) throw read.invalid('tools', 'an array')
  const variables = read.raw('variables')
  if (variables !== undefined && (typeof variables !== 'object' || variables === null)) {
    throw read.invalid('variables', 'an object')
  }
  const template = {
    ...(addGenerationPrompt !== undefined && { addGenerationPrompt }),
    ...(tools !== undefined && { tools }),
    ...(variables !== undefined && { variables }),
  } as ChatTemplateOptions
  return { settings: readSettings(read, limits), template }
}

/** Throws OCTAVO_CONTEXT_EXCEEDED for a prompt of more than `most` tokens. */
export function checkPromptLength(promptTokens: number, most: number, limits: ModelLimits): void {
  if (promptTokens <= most) return
  throw new OctavoError(
    'OCTAVO_CONTEXT_EXCEEDED',
    `the prompt has ${promptTokens} tokens and this model's context is ${limits.contextLength}; ` +
      `shorten the prompt to at most ${most}`,
  )
}

/**
 * How many tokens may come, from what was asked and what the context leaves; where nothing was asked no more than `room`,
 * which KV cache and quota have. Throws OCTAVO_CONTEXT_EXCEEDED.
 */
export function newTokens(
  asked: number | null,
  promptTokens: number,
  limits: ModelLimits,
  room: () => number,
): number {
  const { contextLength, defaults } = limits
  checkPromptLength(promptTokens, contextLength - 1, limits)
  const left = contextLength - promptTokens
  if (asked === null) return Math.min(defaults.maxNewTokens ?? 512, left, room())
  if (asked <= left) return asked
  throw new OctavoError(
    'OCTAVO_CONTEXT_EXCEEDED',
    `the prompt has ${promptTokens} tokens and maxNewTokens is ${asked}: together ${promptTokens + asked}, ` +
      `and this model's context is ${contextLength}; pass at most ${left}`,
  )
}
