/** One generation's way through the engine: its events become pieces, its end a result. */
import { fromNative } from '../errors.js'
import type { NativeEngine, NativeFinish, NativeRequest } from '../native.js'
import { onAbort } from './abort.js'
import { Deferred } from './deferred.js'
import { PieceAssembler, type Piece, type PieceSettings, type TokenLogprob } from './pieces.js'
import type { RequestSink, RequestTable } from './request-table.js'
import { buildResult, type GenerationResult } from './result.js'

/** Pieces the engine may be ahead of the consumer (node-addon: 64 or more cost nothing, more only memory). */
export const creditWindow = 128
/** Credits are given back in handfuls: one native call per this many pieces. */
const creditBatch = creditWindow / 4

export interface GenerateRequestParts {
  native: NativeEngine
  requests: RequestTable
  session: number
  request: Omit<NativeRequest, 'credits'>
  pieces: PieceSettings
  signal: AbortSignal | undefined
  /** The session, and through it the engine: reachable while the request is. */
  owner: { assertOpen: () => void }
}

interface Waiter {
  step: Deferred<IteratorResult<Piece, undefined>>
  /** The handle that waits: it is not abandoned. */
  holder: object
}

/** created → running → (ending: cancel sent, terminal event awaited) → ended */
type State = 'created' | 'running' | 'ending' | 'ended'

const end: IteratorResult<Piece, undefined> = Object.freeze({ done: true, value: undefined })

export class GenerateRequest implements RequestSink {
  readonly session: number
  readonly #parts: GenerateRequestParts
  readonly #pieces: PieceAssembler
  readonly #ended = new Deferred<void>()
  readonly #result = new Deferred<GenerationResult>()
  #state: State = 'created'
  #id = 0
  #queue: Piece[] = []
  #waiters: Waiter[] = []
  #owedCredits = 0
  #unbounded = false
  #discarded = false
  #failure: { reason: unknown } | null = null
  #ignoreSignal: () => void = () => {}

  constructor(parts: GenerateRequestParts) {
    this.#parts = parts
    this.session = parts.session
    this.#pieces = new PieceAssembler(parts.pieces)
  }

  get started(): boolean {
    return this.#state !== 'created'
  }

  get inFlight(): boolean {
    return this.#state === 'running' || this.#state === 'ending'
  }

  /** Resolves when the engine has let go of the request (at once when it never had it). Never rejects. */
  get ended(): Promise<void> {
    return this.started ? this.#ended.promise : Promise.resolve()
  }

  /** Submits, once. What the engine refuses arrives as the request's failure. */
  start(): void {
    if (this.started) return
    const { native, requests, request, signal, owner } = this.#parts
    this.#state = 'running'
    if (signal?.aborted) return this.fail(signal.reason)
    const credits = this.#unbounded ? request.maxNewTokens : creditWindow
    try {
      owner.assertOpen()
      this.#id = native.submit(this.session, { ...request, credits })
    } catch (error) {
      return this.fail(fromNative(error))
    }
    requests.add(this.#id, this)
    this.#ignoreSignal = onAbort(signal, this.#abort)
  }

  /** The result; from now on the engine runs ahead of the consumer without limit. */
  result(): Promise<GenerationResult> {
    const raise = !this.#unbounded && this.inFlight
    this.#unbounded = true
    if (raise) this.#parts.native.grant(this.#id, this.#parts.request.maxNewTokens)
    this.start()
    return this.#result.promise
  }

  /** A rejection that nobody looks at is not reported: the same error reaches `result`. */
  next(holder: object): Promise<IteratorResult<Piece, undefined>> {
    this.start()
    const value = this.#queue.shift()
    if (value !== undefined) {
      this.#giveCredit()
      return Promise.resolve({ done: false, value })
    }
    const step = new Deferred<IteratorResult<Piece, undefined>>()
    this.#waiters.push({ step, holder })
    if (this.#state === 'ended') this.#settleWaiters()
    return step.promise
  }

  /** Ends it early; what was produced so far is kept. Does nothing once it has ended. */
  cancel(): void {
    if (this.#state === 'created') this.#cancelUnstarted()
    else if (this.#state === 'running') this.#sendCancel()
  }

  /** The consumer takes no more pieces. */
  discard(): void {
    this.#discarded = true
    this.#queue = []
    this.cancel()
  }

  token(token: number, logprob: TokenLogprob): void {
    if (this.#state !== 'running') return
    try {
      const piece = this.#pieces.push(token, logprob)
      if (piece === null) this.#giveCredit()
      else this.#deliver(piece)
    } catch (error) {
      this.#failure = { reason: error }
    }
    if (this.#failure !== null || this.#pieces.stopString !== null) this.#sendCancel()
  }

  finish(finish: NativeFinish): void {
    if (this.#state === 'ended') return
    if (this.#failure !== null) return this.fail(this.#failure.reason)
    if (finish.reason === 'failed') return this.fail(fromNative(finish))
    const last = this.#pieces.finish()
    if (last !== null && !this.#discarded) this.#deliver(last)
    const { wantsLogprobs } = this.#parts.pieces
    this.#result.resolve(buildResult(finish, this.#pieces, wantsLogprobs))
    this.#end()
  }

  fail(reason: unknown): void {
    if (this.#state === 'ended') return
    this.#failure = { reason }
    this.#queue = []
    this.#result.reject(reason)
    this.#end()
  }

  readonly #abort = (): void => {
    if (this.#state !== 'running') return
    this.#failure = { reason: this.#parts.signal?.reason }
    this.discard()
  }

  #deliver(piece: Piece): void {
    const waiter = this.#waiters.shift()
    if (waiter === undefined) {
      this.#queue.push(piece)
      return
    }
    this.#giveCredit()
    waiter.step.resolve({ done: false, value: piece })
  }

  #giveCredit(): void {
    if (this.#unbounded || this.#state !== 'running') return
    if (++this.#owedCredits < creditBatch) return
    this.#parts.native.grant(this.#id, this.#owedCredits)
    this.#owedCredits = 0
  }

  #sendCancel(): void {
    this.#state = 'ending'
    this.#parts.native.cancel(this.#id)
  }

  #cancelUnstarted(): void {
    const promptTokens = this.#parts.request.prompt.length
    const timings = { submitted: 0, admitted: 0, firstToken: 0, finished: 0 }
    this.finish({
      request: 0,
      reason: 'cancelled',
      code: '',
      message: '',
      promptTokens,
      cachedTokens: 0,
      outputTokens: 0,
      timings,
      logits: null,
    })
  }

  #end(): void {
    this.#state = 'ended'
    this.#ignoreSignal()
    this.#ended.resolve()
    this.#settleWaiters()
  }

  #settleWaiters(): void {
    for (const { step } of this.#waiters.splice(0)) {
      if (this.#failure === null) step.resolve(end)
      else step.reject(this.#failure.reason)
    }
  }
}
