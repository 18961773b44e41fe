/** From a folder to a running native engine. */
import { AsyncResource } from 'node:async_hooks'
import { join } from 'node:path'
import { openCheckpoint } from './checkpoint/index.js'
import type { Checkpoint } from './checkpoint/types.js'
import { fromNative, OctavoError } from './errors.js'
import { describeModel } from './model.js'
import {
  loadNative,
  type NativeAddon,
  type NativeEngine,
  type NativeEngineOptions,
  type NativeLoad,
} from './native.js'
import type { NativeTraceOptions } from './native-trace.js'
import type { EngineSettings, LoadProgress } from './options/engine-options.js'
import { invalid } from './options/reader.js'
import type { PlanSettings } from './options/plan-options.js'
import type { TraceSettings } from './options/trace-options.js'
import { memoryPlan, type MemoryPlan } from './plan.js'
import { onAbort } from './runtime/abort.js'
import { EngineState } from './runtime/engine-state.js'
import { RequestTable } from './runtime/request-table.js'
import { loadText } from './text/index.js'
import { keepTuning, tuneOptions } from './tune.js'

/** The folder of the model that ships with the package. */
export const embeddedModel = join(__dirname, '..', 'models', 'stories260k')

/** A fraction of the device's memory becomes bytes. */
function limitBytes(limit: number, totalBytes: () => number): number {
  if (limit > 1) return limit
  const total = totalBytes()
  const bytes = Math.floor(limit * total)
  if (bytes >= 1) return bytes
  const expected = `at least a byte of the device's ${total}, or a whole number of bytes`
  throw invalid('memory.limit', limit, expected)
}

function nativeTrace({ spill, ...trace }: TraceSettings): NativeTraceOptions {
  if (spill === null) return { ...trace, spillBytes: 0 }
  return { ...trace, spillPath: spill.path, spillBytes: spill.maxBytes }
}

/** Settings as the runtime takes them. */
function nativeOptions(settings: EngineSettings, totalBytes: () => number): NativeEngineOptions {
  const {
    maxSequences,
    maxBatchTokens,
    blockSize,
    dtype,
    kvDType,
    eviction,
    admission,
    targetInterTokenMs,
    overlap,
    graphs,
    prefix,
    pinnedBytes,
  } = settings
  return {
    maxSequences,
    ...(maxBatchTokens !== null && { maxBatchTokens }),
    blockSize,
    ...(dtype !== null && { dtype }),
    ...(kvDType !== null && { kvDType }),
    eviction,
    admission,
    ...(targetInterTokenMs !== null && { targetInterTokenMs }),
    ...(overlap !== null && { overlap }),
    ...(graphs !== null && { graphs }),
    ...(prefix !== null && { prefix }),
    memoryLimit: limitBytes(settings.limit, totalBytes),
    kvBytes: settings.kvBytes ?? 0,
    trace: nativeTrace(settings.trace),
    ...(pinnedBytes !== null && { pinnedLimit: pinnedBytes }),
  }
}

/** Calls the user's onProgress in the caller's async context; what it throws cancels the load. */
class ProgressReporter {
  failure: { reason: unknown } | null = null
  cancel: () => void = () => {}
  readonly #callback: ((progress: LoadProgress) => void) | null

  constructor(callback: ((progress: LoadProgress) => void) | undefined) {
    this.#callback = callback === undefined ? null : AsyncResource.bind(callback)
  }

  readonly report = (doneBytes: number, totalBytes: number): void => {
    if (this.#callback === null || this.failure !== null) return
    try {
      this.#callback({ doneBytes, totalBytes })
    } catch (reason) {
      this.failure = { reason }
      this.cancel()
    }
  }
}

function nativeLoad(
  addon: NativeAddon,
  checkpoint: Checkpoint,
  settings: EngineSettings,
): Omit<NativeLoad, 'onProgress' | 'onEvents'> {
  const { device, threads } = settings
  return {
    device,
    threads,
    spec: checkpoint.spec,
    manifest: checkpoint.manifest,
    options: nativeOptions(settings, () => addon.memoryUse(device).totalBytes),
  }
}

/** Resolves with the engine, or gives everything back and rejects: a load may end before its abort reaches it. */
export async function loadWeights(
  load: Omit<NativeLoad, 'onProgress'>,
  addon: Pick<NativeAddon, 'loadEngine'>,
  settings: EngineSettings,
): Promise<NativeEngine> {
  const { signal } = settings
  const progress = new ProgressReporter(settings.onProgress)
  const { promise, cancel } = addon.loadEngine({ ...load, onProgress: progress.report })
  progress.cancel = cancel
  const ignoreSignal = onAbort(signal, cancel)
  try {
    const native = await promise
    if (!signal?.aborted && progress.failure === null) return native
    await native.disposeAsync()
  } catch (error) {
    if (!signal?.aborted && progress.failure === null) throw fromNative(error)
  } finally {
    ignoreSignal()
  }
  throw progress.failure !== null ? progress.failure.reason : signal?.reason
}

/** Reads and checks the folder, then takes memory. Throws every load error; on a throw nothing is held. */
export async function loadEngine(folder: string, settings: EngineSettings): Promise<EngineState> {
  const { signal } = settings
  signal?.throwIfAborted()
  const text = await loadText(folder)
  signal?.throwIfAborted()
  const checkpoint = await openCheckpoint(folder, {
    ...(text !== null && { sampledVocabulary: text.tokenizer.vocabularySize }),
    ...(settings.dummySeed !== null && { dummySeed: settings.dummySeed }),
    ...(signal !== undefined && { signal }),
  }).catch((error: unknown) => {
    throw signal?.aborted ? signal.reason : error
  })
  const requests = new RequestTable()
  const addon = loadNative()
  const { device, tune } = settings
  const tuned = tune === null ? null : await tuneOptions(addon, device, tune)
  signal?.throwIfAborted()
  let load: Omit<NativeLoad, 'onProgress'>
  try {
    load = { ...nativeLoad(addon, checkpoint, settings), onEvents: requests.dispatch }
  } catch (error) {
    throw fromNative(error)
  }
  if (tuned !== null) load.options.tune = tuned
  const native = await loadWeights(load, addon, settings)
  if (tune !== null) await keepTuning(addon, native, tune)
  return new EngineState({ native, requests, model: describeModel(checkpoint, text), text })
}

/** Reads config.json and the headers of the weights, nothing else, and plans. */
export async function planEngine(folder: string, settings: PlanSettings): Promise<MemoryPlan> {
  const { engine, assume, contextTokens, sessions } = settings
  const { dummySeed } = engine
  const { spec, manifest } = await openCheckpoint(folder, dummySeed === null ? {} : { dummySeed })
  if (contextTokens > spec.contextLength) {
    const sentence = `context is ${contextTokens} tokens; the model takes ${spec.contextLength} at most`
    throw new OctavoError('OCTAVO_CONTEXT_EXCEEDED', sentence)
  }
  const addon = loadNative()
  // A device that is not here cannot be found by trying.
  const device = assume !== null && engine.device === 'auto' ? 'cuda:0' : engine.device
  const { total, context } = assume ?? { total: 0, context: null }
  const stated = { totalBytes: total, ...(context !== null && { contextBytes: context }) }
  const totalBytes = (): number =>
    assume === null ? addon.memoryUse(device).totalBytes : assume.total
  try {
    const request = {
      device,
      ...(assume !== null && { stated }),
      spec,
      manifest,
      options: nativeOptions(engine, totalBytes),
      demand: { contextTokens, sessions },
    }
    return memoryPlan(addon.planMemory(request))
  } catch (error) {
    throw fromNative(error)
  }
}
