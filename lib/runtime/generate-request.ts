/** One generation's way through the engine: the pieces of its samples in one stream, its end their results. */
import { fromNative } from '../errors.js'
import type { NativeEngine, NativeRequest } from '../native.js'
import { onAbort } from './abort.js'
import { Deferred } from './deferred.js'
import type { Piece, PieceSettings } from './pieces.js'
import type { RequestTable } from './request-table.js'
import type { GenerationResult } from './result.js'
import { creditWindow, Sample, type SampleOwner } from './sample.js'

export interface GenerateRequestParts {
  native: NativeEngine
  requests: RequestTable
  session: number
  request: Omit<NativeRequest, 'credits'>
  /** Of each sample. */
  pieces: PieceSettings[]
  signal: AbortSignal | undefined
  /** The session, and through it the engine: reachable while the request is. */
  owner: { assertOpen: () => void }
}

interface Waiter {
  step: Deferred<IteratorResult<Piece, undefined>>
  /** The handle that waits: it is not abandoned. */
  holder: object
}

const end: IteratorResult<Piece, undefined> = Object.freeze({ done: true, value: undefined })

export class GenerateRequest implements SampleOwner {
  readonly #parts: GenerateRequestParts
  readonly #samples: Sample[]
  readonly #ended = new Deferred<void>()
  #started = false
  #left: number
  #queue: { sample: Sample; piece: Piece }[] = []
  #waiters: Waiter[] = []
  #unbounded = false
  #discarded = false
  #failure: { reason: unknown } | null = null
  #ignoreSignal: () => void = () => {}

  constructor(parts: GenerateRequestParts) {
    this.#parts = parts
    const { native, session, request } = parts
    const promptTokens = request.prompt.length
    const { maxNewTokens } = request
    this.#samples = parts.pieces.map(
      (pieces) => new Sample({ native, session, maxNewTokens, promptTokens, pieces, owner: this }),
    )
    this.#left = this.#samples.length
  }

  get started(): boolean {
    return this.#started
  }

  get inFlight(): boolean {
    return this.#samples.some(({ inFlight }) => inFlight)
  }

  /** Resolves when the engine has let go of the request (at once when it never had it). Never rejects. */
  get ended(): Promise<void> {
    return this.#started ? this.#ended.promise : Promise.resolve()
  }

  /** Submits, once. What the engine refuses arrives as the request's failure. */
  start(): void {
    if (this.#started) return
    const { native, requests, session, request, signal, owner } = this.#parts
    this.#started = true
    if (signal?.aborted) return this.#failAll(signal.reason)
    const credits = this.#unbounded ? request.maxNewTokens : creditWindow
    let first: number
    try {
      owner.assertOpen()
      first = native.submit(session, { ...request, samples: this.#samples.length, credits })
    } catch (error) {
      return this.#failAll(fromNative(error))
    }
    this.#samples.forEach((sample, index) => {
      sample.begin(first + index)
      requests.add(first + index, sample)
    })
    this.#ignoreSignal = onAbort(signal, this.#abort)
  }

  /** The results, by sample; from now on the engine runs ahead of the consumer without limit. */
  results(): Promise<GenerationResult>[] {
    this.#unbounded = true
    for (const sample of this.#samples) sample.unbind()
    this.start()
    return this.#samples.map(({ result }) => result)
  }

  /** A rejection that nobody looks at is not reported: the same error reaches the results. */
  next(holder: object): Promise<IteratorResult<Piece, undefined>> {
    this.start()
    const next = this.#queue.shift()
    if (next !== undefined) {
      next.sample.giveCredit()
      return Promise.resolve({ done: false, value: next.piece })
    }
    const step = new Deferred<IteratorResult<Piece, undefined>>()
    this.#waiters.push({ step, holder })
    if (this.#left === 0) this.#settleWaiters()
    return step.promise
  }

  /** Ends it early; what was produced so far is kept. Does nothing once it has ended. */
  cancel(): void {
    this.#started = true
    for (const sample of this.#samples) sample.cancel(this.#failure)
  }

  /** The consumer takes no more pieces. */
  discard(): void {
    this.#discarded = true
    this.#queue = []
    this.cancel()
  }

  deliver(sample: Sample, piece: Piece): void {
    if (this.#discarded) return
    const waiter = this.#waiters.shift()
    if (waiter === undefined) {
      this.#queue.push({ sample, piece })
      return
    }
    sample.giveCredit()
    waiter.step.resolve({ done: false, value: piece })
  }

  /** What one sample fails of ends all. */
  sampleEnded(failure: { reason: unknown } | null): void {
    this.#left--
    if (failure !== null) {
      this.#failure ??= failure
      this.discard()
    }
    if (this.#left > 0) return
    this.#ignoreSignal()
    this.#ended.resolve()
    this.#settleWaiters()
  }

  readonly #abort = (): void => {
    this.#failure ??= { reason: this.#parts.signal?.reason }
    this.discard()
  }

  #failAll(reason: unknown): void {
    for (const sample of this.#samples) sample.fail(reason)
  }

  #settleWaiters(): void {
    for (const { step } of this.#waiters.splice(0)) {
      if (this.#failure === null) step.resolve(end)
      else step.reject(this.#failure.reason)
    }
  }
}
