/**
 * What an engine is, without its handle: sessions, requests in flight and the leak detector hold this, so
 * that none of them keeps a forgotten `Engine` reachable by accident.
 */
import { OctavoError } from '../errors.js'
import type { Model } from '../model.js'
import type { NativeEngine } from '../native.js'
import type { NativeSpill } from '../native-trace.js'
import type { ModelLimits } from '../options/model-limits.js'
import type { NativePlan } from '../plan.js'
import type { TextModel } from '../text/types.js'
import type { RequestTable } from './request-table.js'

export interface EngineParts {
  native: NativeEngine
  requests: RequestTable
  model: Model
  text: TextModel | null
}

export class EngineState {
  readonly native: NativeEngine
  readonly requests: RequestTable
  readonly model: Model
  readonly text: TextModel | null
  readonly limits: ModelLimits
  #kv: NativePlan['kv'] | null = null
  #disposed = false
  #spillTold = false
  #disposal: Promise<void> | null = null

  constructor({ native, requests, model, text }: EngineParts) {
    this.native = native
    this.requests = requests
    this.model = model
    this.text = text
    this.limits = {
      vocabularySize: model.vocabularySize,
      contextLength: model.contextLength,
      eosTokenIds: model.eosTokenIds,
      defaults: model.generation,
      hasTokenizer: text !== null,
    }
  }

  get disposed(): boolean {
    return this.#disposed
  }

  /** The size of the KV cache. */
  get kv(): NativePlan['kv'] {
    this.#kv ??= this.native.plan({ contextTokens: 0, sessions: 1 }).kv
    return this.#kv
  }

  /** Throws OCTAVO_DISPOSED. */
  assertOpen(): void {
    if (this.#disposed) throw disposedError('engine')
  }

  /** Says once, as a process warning, that the trace's spill file has stopped, and why. */
  warnOfSpill(report: () => NativeSpill): void {
    if (this.#spillTold) return
    const { problem } = report()
    if (problem === '') return
    this.#spillTold = true
    process.emitWarning(problem, { code: 'OCTAVO_TRACE_SPILL' })
  }

  dispose(): void {
    this.#close()
    this.native.dispose()
  }

  disposeAsync(): Promise<void> {
    this.#close()
    this.#disposal ??= this.native.disposeAsync()
    return this.#disposal
  }

  #close(): void {
    if (this.#disposed) return
    this.warnOfSpill(() => this.native.traceSpill())
    this.#disposed = true
    this.requests.fail(disposedError('engine'))
  }
}

export function disposedError(what: 'engine' | 'session'): OctavoError {
  return new OctavoError('OCTAVO_DISPOSED', `this ${what} has been disposed; create a new one`)
}
