/** The requests in flight: one native event callback per engine feeds them all. */
import type { NativeEvents, NativeFinish } from '../native.js'
import type { TokenLogprob } from './pieces.js'

/** Where the events of one request go. None of these may throw. */
export interface RequestSink {
  readonly session: number
  token(token: number, logprob: TokenLogprob): void
  finish(finish: NativeFinish): void
  /** The engine or session is gone, or this request's handling failed: nothing more will come. */
  fail(error: unknown): void
}

/**
 * Holds a sink from `submit` to its terminal event, and with it everything the sink keeps alive: a generation
 * that is being awaited keeps its engine from being garbage-collected.
 */
export class RequestTable {
  readonly #sinks = new Map<number, RequestSink>()

  get size(): number {
    return this.#sinks.size
  }

  add(request: number, sink: RequestSink): void {
    this.#sinks.set(request, sink)
  }

  /** The engine's event callback. Events of unknown requests (disposed meanwhile) are dropped. */
  readonly dispatch = (events: NativeEvents): void => {
    for (let i = 0; i < events.requests.length; i++) {
      this.#sinks.get(events.requests[i]!)?.token(events.tokens[i]!, logprobAt(events, i))
    }
    for (const finish of events.finished) {
      const sink = this.#sinks.get(finish.request)
      this.#sinks.delete(finish.request)
      sink?.finish(finish)
    }
  }

  /** Fails the requests of one session, or all, at once: what arrives for them later is dropped. */
  fail(error: unknown, session?: number): void {
    for (const [request, sink] of [...this.#sinks]) {
      if (session !== undefined && sink.session !== session) continue
      this.#sinks.delete(request)
      sink.fail(error)
    }
  }
}

function logprobAt(events: NativeEvents, i: number): TokenLogprob {
  const top = events.top?.[i]
  return {
    token: events.tokens[i]!,
    logprob: events.logprobs[i]!,
    top: top ? Array.from(top.tokens, (token, j) => ({ token, logprob: top.logprobs[j]! })) : [],
  }
}
