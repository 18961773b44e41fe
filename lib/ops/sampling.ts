/** Sampling: one token a row of logits. */
import { isArray, reading } from '../options/reader.js'
import type { DeviceBuffer } from './buffer.js'
import { float32s, int32s } from './indices.js'
import type { Int32s } from './indices.js'
import { callOps } from './load.js'
import { readOptions } from './options.js'
import type { NativeSamplingRow } from './native.js'
import { deviceOf, nativeMatrix } from './shape.js'

/** How one row is sampled, applied in the order of the fields from `bias` to `minP`. */
export interface SamplingOptions {
  /** Added to the logits of tokens; −Infinity forbids one. */
  bias?: { tokens: Int32s; values: Float32Array | readonly number[] }
  /** Distinct tokens of prompt and output, and how often the output holds each. */
  history?: { tokens: Int32s; counts: Int32s }
  /** Divides positive logits of seen tokens and multiplies negative ones; default 1, none. */
  repetitionPenalty?: number
  /** Taken off the logit for every time the output holds the token; default 0. */
  frequencyPenalty?: number
  /** Taken off the logit once when the output holds the token; default 0. */
  presencePenalty?: number
  /** 0 takes the largest logit, lowest id on ties; default 1. */
  temperature?: number
  /** Keeps the k largest; 0, the default, keeps all. */
  topK?: number
  /** Keeps the fewest tokens whose probability sums to p; default 1, all. */
  topP?: number
  /** Keeps tokens of at least this share of the largest probability; default 0, all. */
  minP?: number
  /** Of the random numbers; default 0n. */
  seed?: bigint
  /** Of the token in its sequence: the random counter; default 0. */
  position?: number
}

/** What {@link sample} found. */
export interface Samples {
  /** `[rows]` */
  tokens: Int32Array
  /** `[rows]`: of the picked token, by the logits as they came. */
  logprobs: Float32Array
  /** `[rows, topCount]`, best first. */
  topTokens: Int32Array
  /** `[rows, topCount]` */
  topLogprobs: Float32Array
}

const none = new Int32Array(0)

const rowNames: Record<keyof SamplingOptions, true> = {
  bias: true,
  history: true,
  repetitionPenalty: true,
  frequencyPenalty: true,
  presencePenalty: true,
  temperature: true,
  topK: true,
  topP: true,
  minP: true,
  seed: true,
  position: true,
}

const defaults = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  position: 0,
  seed: 0n,
}
const absentBias: NonNullable<SamplingOptions['bias']> = { tokens: none, values: [] }
const absentHistory: NonNullable<SamplingOptions['history']> = { tokens: none, counts: none }

function nativeRow(options: SamplingOptions, name: string): NativeSamplingRow {
  const {
    bias = absentBias,
    history = absentHistory,
    ...given
  } = readOptions(options, rowNames, name)
  const biased = readOptions(bias, { tokens: true, values: true }, 'bias')
  const seen = readOptions(history, { tokens: true, counts: true }, 'history')
  return {
    ...defaults,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    historyTokens: int32s('history.tokens', seen.tokens),
    historyCounts: int32s('history.counts', seen.counts),
    biasTokens: int32s('bias.tokens', biased.tokens),
    biasValues: float32s('bias.values', biased.values),
  }
}

const callNames = { sampled: true, topCount: true } as const

/**
 * Picks a token from every row of `logits` (`[rows, vocabulary]`, overwritten). `params` has one element a
 * row, or is one for all. Ids from `sampled` on (default: vocabulary) are never picked; `topCount` best
 * tokens (0 … 20) are reported. The definition, to the bit of the random numbers, is cpp/ops/sampling.h.
 */
export function sample(
  logits: DeviceBuffer<'fp32'>,
  params: SamplingOptions | readonly SamplingOptions[],
  options?: { sampled?: number; topCount?: number },
): Samples {
  const matrix = nativeMatrix('logits', logits)
  const rows = isArray(params)
    ? reading('params', () => Array.from(params as readonly SamplingOptions[]))
    : null
  const { sampled = matrix.columns, topCount = 0 } = readOptions(options, callNames)
  const call = {
    logits: matrix,
    sampled,
    topCount,
    params:
      rows === null
        ? new Array(matrix.rows).fill(nativeRow(params as SamplingOptions, 'params'))
        : rows.map((row, at) => nativeRow(row, `params[${at}]`)),
  }
  return callOps((ops) => ops.sample(deviceOf('logits', logits), call))
}
