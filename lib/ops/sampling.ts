/** Sampling: one token a row of logits. */
import type { DeviceBuffer } from './buffer.js'
import { float32s, int32s } from './indices.js'
import type { Int32s } from './indices.js'
import { callOps } from './load.js'
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

function nativeRow(options: SamplingOptions): NativeSamplingRow {
  return {
    temperature: options.temperature ?? 1,
    topK: options.topK ?? 0,
    topP: options.topP ?? 1,
    minP: options.minP ?? 0,
    repetitionPenalty: options.repetitionPenalty ?? 1,
    frequencyPenalty: options.frequencyPenalty ?? 0,
    presencePenalty: options.presencePenalty ?? 0,
    position: options.position ?? 0,
    seed: options.seed ?? 0n,
    historyTokens: int32s('history.tokens', options.history?.tokens ?? none),
    historyCounts: int32s('history.counts', options.history?.counts ?? none),
    biasTokens: int32s('bias.tokens', options.bias?.tokens ?? none),
    biasValues: float32s('bias.values', options.bias?.values ?? []),
  }
}

/**
 * Picks a token from every row of `logits` (`[rows, vocabulary]`, overwritten). `params` has one element a
 * row, or is one for all. Ids from `sampled` on (default: vocabulary) are never picked; `topCount` best
 * tokens (0 … 20) are reported. The definition, to the bit of the random numbers, is cpp/ops/sampling.h.
 */
export function sample(
  logits: DeviceBuffer<'fp32'>,
  params: SamplingOptions | readonly SamplingOptions[],
  options: { sampled?: number; topCount?: number } = {},
): Samples {
  const matrix = nativeMatrix('logits', logits)
  const rows = Array.isArray(params)
    ? (params as readonly SamplingOptions[])
    : new Array<SamplingOptions>(matrix.rows).fill(params as SamplingOptions)
  const call = {
    logits: matrix,
    sampled: options.sampled ?? matrix.columns,
    topCount: options.topCount ?? 0,
    params: rows.map(nativeRow),
  }
  return callOps((ops) => ops.sample(deviceOf('logits', logits), call))
}
