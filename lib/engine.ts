/** A loaded model on one device. */
import './polyfill.js'
import { memoryAudit, type MemoryAudit } from './audit.js'
import { fromNative, OctavoError } from './errors.js'
import { graphReport, type GraphReport } from './graphs.js'
import { embeddedModel, loadEngine, planEngine } from './load.js'
import { memoryReport, type MemoryReport } from './memory.js'
import type { Model } from './model.js'
import { readEngineOptions, type EngineOptions } from './options/engine-options.js'
import type { Prompt } from './options/generate-options.js'
import { readPlanOptions, type PlanOptions } from './options/plan-options.js'
import { readSessionOptions, type SessionOptions } from './options/session-options.js'
import { invalid, isPath, OptionReader } from './options/reader.js'
import { memoryPlan, type MemoryPlan } from './plan.js'
import { traceLevels, type TraceLevel } from './options/trace-options.js'
import { promptIds } from './prompt.js'
import { EngineState } from './runtime/engine-state.js'
import { creationStack, unwatch, watch } from './runtime/leaks.js'
import { ScoreRequest, type Logits } from './runtime/score-request.js'
import { Session } from './session.js'
import { sessionInfo, type SessionInfo } from './session-info.js'
import { buildLeaks, buildSnapshot } from './trace/build.js'
import type { LeakReport, MemorySnapshot } from './trace/snapshot.js'
import { tuningReport, type TuningReport } from './tuning.js'
import type { Tokenizer } from './text/types.js'

/** Options of `engine.memory`. */
export interface MemoryReportOptions {
  /** Compare plan, ledger and driver at one moment. */
  audit?: boolean | undefined
}

/** Options of `engine.logits`. */
export interface LogitsOptions {
  /** Cancels within one step; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined
}

/** The embedded model where no path is given. */
function folderOf(path: string | undefined): string {
  if (path !== undefined && !isPath(path)) {
    throw invalid('path', path, 'the path of a model folder')
  }
  return path ?? embeddedModel
}

/**
 * A model in memory, with a step loop on its own thread that serves any number of sessions in one batch.
 *
 * @example
 * ```ts
 * import { Engine } from 'octavo'
 * await using engine = await Engine.load()
 * using session = engine.createSession()
 * for await (const piece of session.generate('Once upon a time', { maxNewTokens: 128 })) {
 *   process.stdout.write(piece.text)
 * }
 * ```
 */
export class Engine {
  readonly #state: EngineState

  /** @internal Use Engine.load(). */
  constructor(state: EngineState, stack: string) {
    if (!(state instanceof EngineState)) {
      throw new OctavoError(
        'OCTAVO_INVALID_ARGUMENT',
        'an Engine is made by Engine.load(), not by new',
      )
    }
    this.#state = state
    watch(this, {
      what: `the Engine of ${state.model.folder}`,
      stack,
      release: () => {
        if (state.disposed) return false
        state.disposeAsync().catch(() => {})
        return true
      },
    })
  }

  /**
   * Loads a folder with config.json, *.safetensors and, for text, tokenizer.json; without a path, the model
   * that ships with octavo. The folder is checked whole before memory is taken, and memory is given back on
   * any failure.
   *
   * Rejects with the signal's reason after an abort, and with OCTAVO_UNKNOWN_OPTION, OCTAVO_INVALID_ARGUMENT,
   * OCTAVO_IO_FAILED, OCTAVO_CHECKPOINT_INVALID, OCTAVO_CHECKPOINT_MISMATCH, OCTAVO_UNSUPPORTED_MODEL,
   * OCTAVO_TOKENIZER_INVALID, OCTAVO_NO_CUDA_BUILD, OCTAVO_NO_DRIVER, OCTAVO_NO_DEVICE,
   * OCTAVO_KERNELS_UNAVAILABLE, OCTAVO_OUT_OF_MEMORY, OCTAVO_NATIVE_MISSING.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load(undefined, {
   *   device: 'cpu',
   *   memory: { kv: 16 * 2 ** 20 },
   *   signal: AbortSignal.timeout(60_000),
   *   onProgress: ({ doneBytes, totalBytes }) => console.log(`${doneBytes} of ${totalBytes} bytes`),
   * })
   * console.log(engine.model.parameters, engine.device)
   * ```
   */
  static async load(path?: string, options?: EngineOptions): Promise<Engine> {
    const stack = creationStack()
    return new Engine(await loadEngine(folderOf(path), readEngineOptions(options)), stack)
  }

  /**
   * What a load with these options would hold, to the byte, before anything is loaded: config.json and the headers
   * of the weights are read, and the device is asked for its figures, or `assume` states them. A plan that does not
   * fit resolves too: see `fits` and `missing`.
   *
   * Rejects with OCTAVO_UNKNOWN_OPTION, OCTAVO_INVALID_ARGUMENT, OCTAVO_CONTEXT_EXCEEDED, OCTAVO_IO_FAILED,
   * OCTAVO_CHECKPOINT_INVALID, OCTAVO_CHECKPOINT_MISMATCH, OCTAVO_UNSUPPORTED_MODEL, OCTAVO_NO_CUDA_BUILD,
   * OCTAVO_NO_DRIVER, OCTAVO_NO_DEVICE, OCTAVO_KERNELS_UNAVAILABLE, OCTAVO_NATIVE_MISSING.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * const plan = await Engine.plan(undefined, { assume: { total: 2 ** 30 }, context: 512, sessions: 8 })
   * console.log(plan.fits, plan.plannedBytes, plan.session.count, plan.missing)
   * ```
   */
  static async plan(path?: string, options?: PlanOptions): Promise<MemoryPlan> {
    return planEngine(folderOf(path), readPlanOptions(options))
  }

  /** The device it runs on: 'cpu', 'cuda:0' … */
  get device(): string {
    return this.#state.native.deviceId
  }

  /** Facts about the model. */
  get model(): Model {
    return this.#state.model
  }

  /** Text to ids and back; null where the folder has no tokenizer.json. Usable after dispose. */
  get tokenizer(): Tokenizer | null {
    return this.#state.text?.tokenizer ?? null
  }

  /** True where `session.chat` works: the folder has a chat template, and it is one. */
  get hasChatTemplate(): boolean {
    return this.#state.text?.template?.problem === null
  }

  get disposed(): boolean {
    return this.#state.disposed
  }

  /**
   * A new conversation. Throws OCTAVO_DISPOSED, OCTAVO_UNKNOWN_OPTION, OCTAVO_INVALID_ARGUMENT.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load()
   * using session = engine.createSession({ tenant: 'acme', quota: true, timeouts: 'short', heartbeat: true })
   * session.heartbeat()
   * console.log(engine.sessions().map(({ id, stage, bytes, lease }) => [id, stage, bytes, lease?.expiresInMs]))
   * ```
   */
  createSession(options?: SessionOptions): Session {
    const settings = readSessionOptions(options)
    this.#state.assertOpen()
    const { quotaMax = 0 } = settings
    return new Session(this, this.#state, quotaMax, (native) => native.createSession(settings))
  }

  /** Every session with what it holds, its age, stage, place, quota and lease. Throws OCTAVO_DISPOSED. */
  sessions(): SessionInfo[] {
    this.#state.assertOpen()
    return this.#state.native.sessions().map(sessionInfo)
  }

  /**
   * fp32 logits of every position of `prompt`: for perplexity, scoring and parity. Nothing of it stays.
   * Rejects with OCTAVO_INVALID_ARGUMENT, OCTAVO_NO_TOKENIZER, OCTAVO_CONTEXT_EXCEEDED, OCTAVO_REQUEST_TOO_LARGE,
   * OCTAVO_DISPOSED, or the signal's reason; nothing is reported as unhandled if no one looks.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load()
   * const { rows, columns, data } = await engine.logits([1, 403, 407])
   * console.log(rows, columns, data.length === rows * columns)
   * ```
   */
  logits(prompt: Prompt, options?: LogitsOptions): Promise<Logits> {
    const logits = this.#score(prompt, options)
    logits.catch(() => {})
    return logits
  }

  async #score(prompt: Prompt, options: LogitsOptions | undefined): Promise<Logits> {
    const signal = new OptionReader<LogitsOptions>(options, { signal: true }).signal('signal')
    const { native, requests, text, limits } = this.#state
    this.#state.assertOpen()
    const ids = promptIds(prompt, text, limits)
    const session = this.createSession()
    try {
      const columns = limits.vocabularySize
      const parts = {
        native,
        requests,
        session: session.id,
        prompt: ids,
        columns,
        signal,
        owner: this,
      }
      const logits = await new ScoreRequest(parts).run()
      signal?.throwIfAborted() // the last step may have been done before the engine was told
      return logits
    } finally {
      session.dispose()
    }
  }

  /**
   * Every byte with its owner, now. With `audit` it also waits for the device, for at most one step, and compares
   * plan, ledger and driver at one moment. Throws OCTAVO_DISPOSED, and OCTAVO_DEVICE_FAILED from an audit.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load()
   * const { audit } = engine.memory({ audit: true })
   * console.log(audit.verdict, audit.residualBytes, audit.regions.weights)
   * ```
   */
  memory(options: { audit: true }): MemoryReport & { audit: MemoryAudit }
  memory(options?: MemoryReportOptions): MemoryReport
  memory(options?: MemoryReportOptions): MemoryReport {
    const wants = new OptionReader<MemoryReportOptions>(options, { audit: true }).boolean('audit')
    this.#state.assertOpen()
    const { native } = this.#state
    try {
      const audit = wants === true ? memoryAudit(native.audit()) : null
      return memoryReport(this.device, native.report(), audit)
    } catch (error) {
      throw fromNative(error)
    }
  }

  /** What the load was planned to take, and took: `memory()` shows the same bytes under the same tags. Throws OCTAVO_DISPOSED. */
  plan(): MemoryPlan {
    this.#state.assertOpen()
    return memoryPlan(this.#state.native.plan({ contextTokens: 0, sessions: 1 }))
  }

  /**
   * Every segment, block, owner, stack and event that the trace has, with the statistics of `memory()`: plain
   * data for JSON.stringify, `octavo trace view` and `octavo trace export`. Traced from the load on with
   * `memory: { trace: 2 }`; at level 0 it holds the statistics and the KV blocks. O(events kept).
   * Throws OCTAVO_DISPOSED.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load(undefined, { memory: { trace: 2 } })
   * using session = engine.createSession()
   * await session.generate('Tom had a red ball', { maxNewTokens: 20 }).result
   * const { segments, events } = engine.memorySnapshot()
   * console.log(segments.length, events.at(-1)?.operation)
   * ```
   */
  memorySnapshot(): MemorySnapshot {
    this.#state.assertOpen()
    try {
      const native = this.#state.native.snapshot()
      this.#state.warnOfSpill(() => native.trace.spill)
      return buildSnapshot(this.device, native, new Date())
    } catch (error) {
      throw fromNative(error)
    }
  }

  /**
   * How much is recorded from now on. What is allocated while the level is 0 is not known later.
   * Throws OCTAVO_INVALID_ARGUMENT, OCTAVO_IO_FAILED (the spill file cannot be made), OCTAVO_OUT_OF_MEMORY (no
   * host memory for the ring), OCTAVO_DISPOSED; the level stays as it was then.
   */
  setTraceLevel(level: TraceLevel): void {
    this.#state.assertOpen()
    if (!traceLevels.includes(level)) throw invalid('level', level, 'one of 0, 1, 2, 3')
    try {
      this.#state.native.setTraceLevel(level)
    } catch (error) {
      throw fromNative(error)
    }
  }

  /**
   * What sessions and requests that are over still hold: nothing, unless octavo has a bug. The ledger finds it
   * at every trace level; level 2 adds where it was allocated. Throws OCTAVO_DISPOSED.
   */
  leaks(): LeakReport {
    this.#state.assertOpen()
    return buildLeaks(this.#state.native.leaks())
  }

  /**
   * The decode steps that were recorded (option `graphs`): sizes, what the driver took for them, how often each was
   * replayed. Throws OCTAVO_DISPOSED.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load(undefined, { graphs: true, maxSequences: 4 })
   * using session = engine.createSession()
   * await session.generate('Tom had a red ball', { maxNewTokens: 20 }).result
   * for (const { sequences, replays } of engine.graphs().buckets) console.log(sequences, replays)
   * ```
   */
  graphs(): GraphReport {
    this.#state.assertOpen()
    return graphReport(this.#state.native.graphs())
  }

  /**
   * What the load measured of the model's products (option `tune`), and what it found in the file. Throws
   * OCTAVO_DISPOSED.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load(undefined, { tune: { seconds: 2 } })
   * const { seconds, entries, unfinished } = engine.tuning()
   * for (const { rows, columns, depth, plan, source } of entries) console.log(rows, columns, depth, plan, source)
   * console.log(seconds, unfinished)
   * ```
   */
  tuning(): TuningReport {
    this.#state.assertOpen()
    return tuningReport(this.#state.native.tuning())
  }

  /**
   * Moves KV blocks of sessions together, a slice of at most 64 MiB between two steps, until no page can be emptied
   * any more, and gives every KV page without a block back to the device; `memory().kv.compaction` says what it
   * took. An engine does so itself when much is stranded, and when it has been idle for a second. Rejects with
   * OCTAVO_DISPOSED.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load()
   * await engine.compact()
   * console.log(engine.memory().kv.pages.mapped)
   * ```
   */
  compact(): Promise<void> {
    const compacted = this.#compact()
    compacted.catch(() => {}) // who does not wait for it is not told
    return compacted
  }

  async #compact(): Promise<void> {
    this.#state.assertOpen()
    await this.#state.native.compact()
  }

  /**
   * Gives back every KV block that no session holds and that the prefix cache kept, and forgets what was evicted:
   * what sessions hold can still be found by others of their tenant. Throws OCTAVO_DISPOSED.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load(undefined, { prefixCache: true })
   * engine.clearPrefixCache()
   * console.log(engine.memory().kv.cachedBlocks)
   * ```
   */
  clearPrefixCache(): void {
    this.#state.assertOpen()
    this.#state.native.clearPrefixCache()
  }

  /** Verifies that plan, allocator, ledger and KV pool agree. Throws OCTAVO_INTERNAL where not, OCTAVO_DISPOSED. */
  check(): void {
    this.#state.assertOpen()
    try {
      this.#state.native.check()
    } catch (error) {
      throw fromNative(error)
    }
  }

  /**
   * Cancels everything, disposes every session and gives all memory back before it returns: blocks for at most
   * one step. Running generations throw OCTAVO_DISPOSED. Always safe, any number of times.
   */
  dispose(): void {
    unwatch(this)
    this.#state.dispose()
  }

  /** `dispose()`. */
  [Symbol.dispose](): void {
    this.dispose()
  }

  /** `dispose()` without blocking the JavaScript thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    unwatch(this)
    await this.#state.disposeAsync()
  }
}
