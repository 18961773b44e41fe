/** A NativeEngine over models/stories260k, driven without the SDK: requests by id, events sorted to them. */
import {
  loadNative,
  type NativeEngine,
  type NativeEngineOptions,
  type NativeEvents,
  type NativeFinish,
  type NativeModelSpec,
  type NativeRequest,
  type NativeWeightManifest,
} from '../../lib/native.js'
import { expectNothingLive } from './nothing-live.js'
import { endlessSpec, storiesManifest, storiesSpec } from './stories-model.js'

const MiB = 2 ** 20

export const native = loadNative()

export type Testing = NonNullable<NativeEngineOptions['testing']>

/** KV bytes of one block of `blockSize` tokens: 5 layers, K and V, 4 heads of 8, fp32. */
export const blockBytes = (blockSize = 16): number => 5 * 2 * 4 * 8 * 4 * blockSize

export interface Top {
  tokens: Int32Array
  logprobs: Float32Array
}

/** One request as it runs: its tokens so far, and its end. */
export class Running {
  readonly tokens: number[] = []
  readonly logprobs: number[] = []
  readonly top: (Top | null)[] = []
  readonly finishes: NativeFinish[] = []
  /** Resolves with the terminal event. */
  readonly finish: Promise<NativeFinish>
  #resolve!: (finish: NativeFinish) => void
  #waiters: { count: number; wake: () => void }[] = []

  constructor(readonly id: number) {
    this.finish = new Promise((resolve) => (this.#resolve = resolve))
  }

  /** Resolves when that many tokens have come, or the end. */
  async produced(count: number): Promise<void> {
    if (this.tokens.length >= count || this.finishes.length > 0) return
    await new Promise<void>((wake) => this.#waiters.push({ count, wake }))
  }

  add(token: number, logprob: number, top: Top | null): void {
    this.tokens.push(token)
    this.logprobs.push(logprob)
    this.top.push(top)
    this.#wake()
  }

  end(finish: NativeFinish): void {
    this.finishes.push(finish)
    this.#resolve(finish)
    this.#wake()
  }

  #wake(): void {
    const ready = this.#waiters.filter(
      ({ count }) => this.tokens.length >= count || this.finishes.length > 0,
    )
    this.#waiters = this.#waiters.filter((waiter) => !ready.includes(waiter))
    for (const { wake } of ready) wake()
  }
}

export const greedy: NativeRequest = {
  prompt: Int32Array.of(1),
  maxNewTokens: 32,
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
  score: false,
  credits: 1_000_000,
}

/** Tokens of a request that cannot end by itself while a test looks at it: 50 s of steps of 5 ms. */
export const endless = 10_000

export type RequestOptions = Partial<Omit<NativeRequest, 'prompt' | 'stopTokens'>> & {
  prompt?: readonly number[]
  stopTokens?: readonly number[]
}

export const defaultOptions: NativeEngineOptions = {
  maxSequences: 16,
  maxBatchTokens: 512,
  blockSize: 16,
  memoryLimit: 256 * MiB,
  kvBytes: 16 * MiB,
}

/** No files to read: a machine short of memory must not make the engine admit less. */
const calmHost = { hostRoot: '/no/such/folder/' }

export class TestEngine {
  readonly #running = new Map<number, Running>()
  native!: NativeEngine
  /** Calls of onEvents so far. */
  deliveries = 0

  /** Greedy stories260K on one CPU thread unless told otherwise. */
  static async load(
    options: Partial<NativeEngineOptions> = {},
    threads = 1,
    manifest: NativeWeightManifest = storiesManifest(),
    spec: NativeModelSpec = storiesSpec,
  ): Promise<TestEngine> {
    const engine = new TestEngine()
    const { promise } = native.loadEngine({
      device: 'cpu',
      threads,
      spec,
      manifest,
      options: { ...defaultOptions, ...options, testing: { ...calmHost, ...options.testing } },
      onProgress: () => {},
      onEvents: (events) => engine.#deliver(events),
    })
    engine.native = await promise
    return engine
  }

  /** For requests of `endless` tokens: steps of 5 ms at least, a context and a pool with room for them. */
  static loadEndless(options: Partial<NativeEngineOptions> = {}): Promise<TestEngine> {
    const slow = { testing: { stepMicroseconds: 5000 }, ...options }
    return TestEngine.load(slow, 1, storiesManifest(), endlessSpec)
  }

  #deliver(events: NativeEvents): void {
    this.deliveries++
    events.requests.forEach((id, index) => {
      const running = this.#running.get(id)!
      running.add(events.tokens[index]!, events.logprobs[index]!, events.top?.[index] ?? null)
    })
    for (const finish of events.finished) this.#running.get(finish.request)!.end(finish)
  }

  start(session: number, options: RequestOptions = {}): Running {
    return this.startAll(session, options)[0]!
  }

  /** All samples of a prompt. */
  startAll(session: number, options: RequestOptions = {}): Running[] {
    const { prompt = [1], stopTokens = [], ...rest } = options
    const id = this.native.submit(session, {
      ...greedy,
      ...rest,
      prompt: Int32Array.from(prompt),
      stopTokens: Int32Array.from(stopTokens),
    })
    return Array.from({ length: options.samples ?? 1 }, (_, index) => {
      const running = new Running(id + index)
      this.#running.set(running.id, running)
      return running
    })
  }

  /** Runs one request to its end. */
  async run(session: number, options: RequestOptions = {}): Promise<Running> {
    const running = this.start(session, options)
    await running.finish
    return running
  }

  /** Runs one request in a session of its own, which is disposed. */
  async fresh(options: RequestOptions = {}): Promise<Running> {
    const session = this.native.createSession()
    const running = await this.run(session, options)
    await this.native.disposeSession(session)
    return running
  }

  /** Of a request that has ended, where there are too many to remember all. */
  forget({ id }: Running): void {
    this.#running.delete(id)
  }

  get requests(): Running[] {
    return [...this.#running.values()]
  }

  sessionBytes(session: number): number {
    const lines = this.native
      .report()
      .lines.filter(({ ownerKind, ownerId }) => ownerKind === 'session' && ownerId === session)
    return lines.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Nothing runs, and no block is held that was not after the load, once the prefix cache has given up its own. */
  expectEmpty(loaded: ReturnType<NativeEngine['report']>): void {
    this.native.check()
    this.native.clearPrefixCache()
    expect(this.native.report()).toMatchObject({
      running: 0,
      waiting: 0,
      blocksFree: loaded.blocksTotal,
      blocksOwned: 0,
      blocksInFlight: 0,
      sessions: [],
    })
    expect(this.native.leaks().leaks).toEqual([])
  }

  /** Disposes and proves it: nothing runs, every request ended once, nothing is left. */
  async close(): Promise<void> {
    this.native.dispose()
    await Promise.all(this.requests.map(({ finish }) => finish))
    for (const { finishes } of this.requests) expect(finishes).toHaveLength(1)
    expect(() => this.native.check()).toThrow(expect.objectContaining({ code: 'OCTAVO_DISPOSED' }))
    expectNothingLive()
  }
}
