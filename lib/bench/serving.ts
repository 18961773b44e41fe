/** A service under load: requests come when they come, whether or not the engine keeps up. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '../engine.js'
import { lengthsOf, type Arrival, type Lengths } from './arrivals.js'
import { promptOf, type PromptOptions } from './prompts.js'
import { runRequest, type RequestFigures } from './request-figures.js'

/** Where a run stands. */
export interface ServingProgress {
  elapsedMs: number
  /** Of all that will come; null where time ends the run. */
  requests: number | null
  arrived: number
  running: number
  done: number
  refused: number
  /** So far. */
  tokens: number
}

export interface ServingOptions {
  seed: number
  /** Tokens that one block of a trace stands for. */
  blockTokens: number
  signal: AbortSignal
  /** Called about once a second and at the end. */
  onProgress?: (progress: ServingProgress) => void
}

/** All requests, in the order in which they came, and how long it took. */
export interface ServingRun {
  requests: RequestFigures[]
  elapsedMs: number
}

/** Keeps count of a run and carries out its requests. */
class Service {
  readonly #engine: Engine
  readonly #options: ServingOptions
  readonly #prompts: PromptOptions
  readonly beginning = performance.now()
  readonly requests: RequestFigures[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #ticker: NodeJS.Timeout
  readonly #all: number | null
  #arrived = 0
  #tokens = 0
  /** The first failure that no request can be blamed for alone. */
  #failure: { reason: unknown } | null = null

  constructor(engine: Engine, options: ServingOptions, all: number | null) {
    this.#engine = engine
    this.#options = options
    this.#all = all
    const { seed, blockTokens } = options
    this.#prompts = { vocabulary: engine.model.vocabularySize, seed, blockTokens }
    this.#ticker = setInterval(() => this.#tell(), 1000)
  }

  get elapsedMs(): number {
    return performance.now() - this.beginning
  }

  get stopped(): boolean {
    return this.#options.signal.aborted || this.#failure !== null
  }

  /** Resolves when it has ended; never rejects. */
  start(arrival: Arrival): Promise<void> {
    const index = this.#arrived++
    const run = this.#run(arrival, index).catch((reason: unknown) => {
      this.#failure ??= { reason }
    })
    this.#running.add(run)
    return run.finally(() => this.#running.delete(run))
  }

  async #run(arrival: Arrival, index: number): Promise<void> {
    const { seed, signal } = this.#options
    this.requests[index] = await runRequest(this.#engine, {
      prompt: promptOf(arrival, index, this.#prompts),
      outputTokens: arrival.outputTokens,
      arrival: this.beginning + arrival.atMs,
      beginning: this.beginning,
      ...{ seed, signal },
      onTokens: (count) => (this.#tokens += count),
    })
  }

  /** Waits for all, stops the clock, and throws what failed. */
  async end(): Promise<ServingRun> {
    await Promise.all(this.#running)
    clearInterval(this.#ticker)
    this.#tell()
    if (this.#failure !== null) throw this.#failure.reason
    return { requests: this.requests.filter(Boolean), elapsedMs: this.elapsedMs }
  }

  #tell(): void {
    const ended = this.requests.filter(Boolean)
    this.#options.onProgress?.({
      elapsedMs: this.elapsedMs,
      requests: this.#all,
      arrived: this.#arrived,
      running: this.#arrived - ended.length,
      done: ended.filter(({ code }) => code === null).length,
      refused: ended.filter(({ code }) => code !== null).length,
      tokens: this.#tokens,
    })
  }
}

/** A fatal failure ends the run while the next arrival is far. */
const longestPause = 1000

/** An abort ends a wait early. */
const pause = (ms: number, signal: AbortSignal): Promise<unknown> =>
  sleep(ms, undefined, { signal }).catch(() => {})

/** Open loop: every request comes at its time, and what has not ended then runs beside it. */
export async function serveArrivals(
  engine: Engine,
  arrivals: readonly Arrival[],
  options: ServingOptions,
): Promise<ServingRun> {
  const service = new Service(engine, options, arrivals.length)
  for (const arrival of arrivals) {
    while (arrival.atMs > service.elapsedMs && !service.stopped) {
      await pause(Math.min(arrival.atMs - service.elapsedMs, longestPause), options.signal)
    }
    if (service.stopped) break
    void service.start(arrival)
  }
  return service.end()
}

export interface ClosedLoopOptions extends ServingOptions {
  /** That run at all times. */
  sessions: number
  durationMs: number
  input: Lengths
  output: Lengths
}

/** Closed loop: so many callers, each of whom asks again as soon as he was answered. What runs at the end is finished. */
export async function serveSessions(
  engine: Engine,
  options: ClosedLoopOptions,
): Promise<ServingRun> {
  const service = new Service(engine, options, null)
  let next = 0
  const caller = async (): Promise<void> => {
    while (!service.stopped && service.elapsedMs < options.durationMs) {
      await service.start({ atMs: service.elapsedMs, ...lengthsOf(options, next++) })
    }
  }
  await Promise.all(Array.from({ length: options.sessions }, caller))
  return service.end()
}
