/** One scoring request: the logits of every position of a prompt. */
import { fromNative } from '../errors.js'
import type { NativeEngine, NativeFinish } from '../native.js'
import type { SamplingSettings } from '../options/generate-settings.js'
import { onAbort } from './abort.js'
import { Deferred } from './deferred.js'
import type { RequestSink, RequestTable } from './request-table.js'

/**
 * fp32 logits of every position: row i holds the scores of the token that follows prompt token i.
 * `data[i * columns + id]`, row-major, `rows * columns` numbers.
 */
export interface Logits {
  /** Prompt tokens. */
  rows: number
  /** The model's vocabulary. */
  columns: number
  data: Float32Array
}

/** Sampling plays no part in scoring; these are its neutral values. */
const neutral: SamplingSettings = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  seed: 0n,
  biasTokens: new Int32Array(),
  biasValues: new Float32Array(),
  stopTokens: new Int32Array(),
  topLogprobs: 0,
}

export interface ScoreRequestParts {
  native: NativeEngine
  requests: RequestTable
  session: number
  prompt: Int32Array
  columns: number
  signal: AbortSignal | undefined
  /** The engine: reachable while the request is. */
  owner: object
}

export class ScoreRequest implements RequestSink {
  readonly session: number
  readonly #parts: ScoreRequestParts
  readonly #logits = new Deferred<Logits>()

  constructor(parts: ScoreRequestParts) {
    this.#parts = parts
    this.session = parts.session
  }

  /** Rejects with what the engine refuses, or the signal's reason once the engine has let go. */
  async run(): Promise<Logits> {
    const { native, requests, session, prompt, signal } = this.#parts
    signal?.throwIfAborted()
    const request = { ...neutral, prompt, maxNewTokens: 0, score: true, credits: 0 }
    let id: number
    try {
      id = native.submit(session, request)
    } catch (error) {
      throw fromNative(error)
    }
    requests.add(id, this)
    const ignoreSignal = onAbort(signal, () => native.cancel(id))
    try {
      return await this.#logits.promise
    } finally {
      ignoreSignal()
    }
  }

  token(): void {}

  finish(finish: NativeFinish): void {
    const { prompt, columns, signal } = this.#parts
    if (finish.reason === 'failed') return this.fail(fromNative(finish))
    if (finish.logits === null) {
      return this.fail(
        signal?.aborted
          ? signal.reason
          : fromNative({ message: 'a score request ended without logits' }),
      )
    }
    this.#logits.resolve({ rows: prompt.length, columns, data: finish.logits })
  }

  fail(error: unknown): void {
    this.#logits.reject(error)
  }
}
