/** How a generation ended: what `run.result` resolves to. */
import type { NativeFinish } from '../native.js'
import type { PieceAssembler, PieceSettings, TokenLogprob } from './pieces.js'

/**
 * 'stop': a stop string, a stop token or the model's EOS. 'length': `maxNewTokens` were produced, or the
 * context is full. 'cancelled': the consumer left (`break`, `cancel()`).
 */
export type FinishReason = 'stop' | 'length' | 'cancelled'

/** Tokens in and out of one generation. */
export interface Usage {
  promptTokens: number
  /** Prompt tokens whose KV the session, or the prefix cache, already held: not computed again. */
  cachedTokens: number
  /** Tokens handed out, an EOS token included. */
  completionTokens: number
}

/** Milliseconds, by the engine's monotonic clock, from the moment the request was submitted. */
export interface Timings {
  /** Until the engine took it up. */
  queueMs: number
  /** Until the first token (TTFT); null when none came. */
  firstTokenMs: number | null
  /** Until the end. */
  totalMs: number
  /** Decode rate: tokens after the first, per second after the first; 0 with fewer than two tokens. */
  tokensPerSecond: number
}

/** The whole of a generation, or of one of its samples. */
export interface GenerationResult {
  /** Of the sample, from 0; see `n`. */
  index: number
  text: string
  /** Token ids, the EOS or stop token included. */
  tokens: number[]
  finishReason: FinishReason
  /** The stop string that ended it, else null. */
  stopString: string | null
  usage: Usage
  timings: Timings
  /** Present when `logprobs` was asked for: one entry a token. */
  logprobs?: TokenLogprob[]
}

const milliseconds = (from: number, to: number): number => (to - from) / 1e6

function timings({ timings: at, outputTokens }: NativeFinish): Timings {
  const decodeMs = milliseconds(at.firstToken, at.finished)
  const decoded = at.firstToken > 0 && outputTokens > 1 && decodeMs > 0
  return {
    queueMs: milliseconds(at.submitted, at.admitted > 0 ? at.admitted : at.finished),
    firstTokenMs: at.firstToken > 0 ? milliseconds(at.submitted, at.firstToken) : null,
    totalMs: milliseconds(at.submitted, at.finished),
    tokensPerSecond: decoded ? ((outputTokens - 1) * 1000) / decodeMs : 0,
  }
}

function finishReason(finish: NativeFinish, pieces: PieceAssembler): FinishReason {
  if (pieces.stopString !== null) return 'stop'
  // The engine had ended it before it heard of the cancel: tokens that came after that were dropped.
  if (pieces.tokens.length < finish.outputTokens) return 'cancelled'
  if (finish.reason === 'eos') return 'stop'
  return finish.reason === 'length' ? 'length' : 'cancelled'
}

export function buildResult(
  finish: NativeFinish,
  pieces: PieceAssembler,
  { index, wantsLogprobs }: PieceSettings,
): GenerationResult {
  return {
    index,
    text: pieces.text,
    tokens: pieces.tokens,
    finishReason: finishReason(finish, pieces),
    stopString: pieces.stopString,
    usage: {
      promptTokens: finish.promptTokens,
      cachedTokens: finish.cachedTokens,
      completionTokens: pieces.tokens.length,
    },
    timings: timings(finish),
    ...(wantsLogprobs && { logprobs: pieces.logprobs }),
  }
}
