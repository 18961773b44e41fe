/** One sample's way through the engine: its events become pieces, its end a result. */
import { fromNative } from '../errors.js'
import type { NativeEngine, NativeFinish } from '../native.js'
import { Deferred } from './deferred.js'
import { PieceAssembler, type Piece, type PieceSettings, type TokenLogprob } from './pieces.js'
import type { RequestSink } from './request-table.js'
import { buildResult, type GenerationResult } from './result.js'

/** Pieces the engine may be ahead of the consumer (node-addon: 64 or more cost nothing, more only memory). */
export const creditWindow = 128
/** Credits are given back in handfuls: one native call per this many pieces. */
const creditBatch = creditWindow / 4

/** What a sample tells the generation it belongs to. */
export interface SampleOwner {
  deliver(sample: Sample, piece: Piece): void
  /** It is over; `failure` where not by itself. */
  sampleEnded(failure: { reason: unknown } | null): void
}

export interface SampleParts {
  native: NativeEngine
  session: number
  maxNewTokens: number
  promptTokens: number
  pieces: PieceSettings
  owner: SampleOwner
}

/** created → running → (ending: cancel sent, terminal event awaited) → ended */
type State = 'created' | 'running' | 'ending' | 'ended'

export class Sample implements RequestSink {
  readonly session: number
  readonly #parts: SampleParts
  readonly #pieces: PieceAssembler
  readonly #result = new Deferred<GenerationResult>()
  #state: State = 'created'
  #id = 0
  #owedCredits = 0
  #unbounded = false
  #failure: { reason: unknown } | null = null

  constructor(parts: SampleParts) {
    this.#parts = parts
    this.session = parts.session
    this.#pieces = new PieceAssembler(parts.pieces)
  }

  get inFlight(): boolean {
    return this.#state === 'running' || this.#state === 'ending'
  }

  get result(): Promise<GenerationResult> {
    return this.#result.promise
  }

  /** The engine has it, under this id. */
  begin(id: number): void {
    this.#id = id
    this.#state = 'running'
  }

  /** The engine runs ahead of the consumer without limit. */
  unbind(): void {
    if (this.#unbounded) return
    this.#unbounded = true
    if (this.inFlight) this.#parts.native.grant(this.#id, this.#parts.maxNewTokens)
  }

  /** The consumer has taken one of its pieces. */
  giveCredit(): void {
    if (this.#unbounded || this.#state !== 'running') return
    if (++this.#owedCredits < creditBatch) return
    this.#parts.native.grant(this.#id, this.#owedCredits)
    this.#owedCredits = 0
  }

  /** Ends it early; what was produced so far is kept. Does nothing once it has ended. */
  cancel(failure: { reason: unknown } | null = null): void {
    if (this.#state !== 'created' && this.#state !== 'running') return
    this.#failure = failure
    if (this.#state === 'created') return this.#cancelUnstarted()
    this.#state = 'ending'
    this.#parts.native.cancel(this.#id)
  }

  token(token: number, logprob: TokenLogprob): void {
    if (this.#state !== 'running') return
    try {
      const piece = this.#pieces.push(token, logprob)
      if (piece === null) this.giveCredit()
      else this.#parts.owner.deliver(this, piece)
    } catch (error) {
      this.cancel({ reason: error })
    }
    if (this.#pieces.stopString !== null) this.cancel(this.#failure)
  }

  finish(finish: NativeFinish): void {
    if (this.#state === 'ended') return
    if (this.#failure !== null) return this.fail(this.#failure.reason)
    if (finish.reason === 'failed') return this.fail(fromNative(finish))
    const last = this.#pieces.finish()
    if (last !== null) this.#parts.owner.deliver(this, last)
    this.#state = 'ended'
    this.#result.resolve(buildResult(finish, this.#pieces, this.#parts.pieces))
    this.#parts.owner.sampleEnded(null)
  }

  fail(reason: unknown): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#failure = { reason }
    this.#result.reject(reason)
    this.#parts.owner.sampleEnded(this.#failure)
  }

  #cancelUnstarted(): void {
    const { promptTokens } = this.#parts
    const timings = { submitted: 0, admitted: 0, firstToken: 0, finished: 0 }
    const counts = { promptTokens, cachedTokens: 0, outputTokens: 0 }
    const nothing = { code: '', message: '', logits: null }
    this.finish({ request: 0, reason: 'cancelled', ...counts, timings, ...nothing })
  }
}
