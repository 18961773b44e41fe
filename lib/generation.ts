/** A generation as its caller holds it: an async iterable of pieces, and a result. */
import './polyfill.js'
import { unwatch, watch } from './runtime/leaks.js'
import type { GenerateRequest } from './runtime/generate-request.js'
import type { Piece } from './runtime/pieces.js'
import type { GenerationResult } from './runtime/result.js'

/**
 * One generation. It starts when it is first asked for something (iterated, or `result` read), and holds
 * nothing before. It can be consumed once: every iteration takes from the same stream.
 *
 * Of several samples (`n`) the pieces come as they are made, each with its `index`.
 *
 * Iterating makes the engine wait for a slow consumer (it runs at most 128 pieces ahead); reading `result`
 * lets it run at full speed, and pieces not taken yet are kept. Leaving the loop (`break`, `return`, a
 * throw) cancels the generation within one step, and the loop is left only when the session is free again.
 * Whoever calls `next()` by hand must call `return()` when leaving early: until then the generation keeps its
 * place in the engine, and the process alive.
 *
 * Errors reach whoever iterates or awaits: the signal's own reason after an abort; OCTAVO_DISPOSED when
 * session or engine are disposed meanwhile; OCTAVO_SESSION_BUSY, OCTAVO_REQUEST_TOO_LARGE,
 * OCTAVO_DEVICE_FAILED from the engine. Nothing is reported as unhandled if no one looks.
 *
 * @example
 * ```ts
 * import { Engine } from 'octavo'
 * await using engine = await Engine.load()
 * using session = engine.createSession()
 * const run = session.generate('Once upon a time', { maxNewTokens: 32 })
 * for await (const piece of run) process.stdout.write(piece.text)
 * const { usage, finishReason } = await run.result
 * console.log(usage.completionTokens, finishReason)
 * ```
 */
export class Generation implements AsyncIterableIterator<Piece> {
  readonly #request: GenerateRequest
  /** Where the session was created, for the warning about a generation left in mid-stream. */
  readonly #stack: string
  #watched = false

  /** @internal */
  constructor(request: GenerateRequest, stack: string) {
    this.#request = request
    this.#stack = stack
  }

  /**
   * The whole, once it has ended. Resolves after `break` and `cancel()` too (`finishReason` 'cancelled'), with
   * what there was until then; rejects where an iteration would throw.
   */
  get result(): Promise<GenerationResult> {
    unwatch(this)
    return this.#request.results()[0]!
  }

  /**
   * The whole of every sample (`n`), by index; `result` is the first of them. Rejects when one fails, which ends the
   * others.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load()
   * using session = engine.createSession()
   * const run = session.generate('Once upon a time', { n: 3, temperature: 1, seed: 1, maxNewTokens: 16 })
   * for (const { index, text } of await run.results) console.log(index, text)
   * ```
   */
  get results(): Promise<GenerationResult[]> {
    unwatch(this)
    const results = Promise.all(this.#request.results())
    results.catch(() => {}) // nothing is reported as unhandled if no one looks
    return results
  }

  /** The next piece. */
  next(): Promise<IteratorResult<Piece, undefined>> {
    this.#watch()
    return this.#request.next(this)
  }

  /** Cancels, drops the pieces not taken yet, and resolves when the session is free again. */
  async return(): Promise<IteratorResult<Piece, undefined>> {
    this.#request.discard()
    await this.#request.ended
    return { done: true, value: undefined }
  }

  /**
   * Ends the generation within one step; pieces already there can still be taken, and `result` resolves.
   * The promise resolves when the session is free again. Always safe.
   */
  async cancel(): Promise<void> {
    this.#request.cancel()
    await this.#request.ended
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Cancels without waiting. */
  [Symbol.dispose](): void {
    this.#request.discard()
  }

  /** Cancels, and waits until the session is free again. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** A consumer that forgets the iteration in mid-stream would leave the request waiting for credits. */
  #watch(): void {
    if (this.#watched) return
    this.#watched = true
    const request = this.#request
    watch(this, {
      what: 'a Generation in mid-stream',
      stack: this.#stack,
      release: () => {
        const left = request.inFlight
        request.discard()
        return left
      },
    })
  }
}
