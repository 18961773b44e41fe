/** From a folder to a running native engine. */
import { AsyncResource } from 'node:async_hooks'
import { join } from 'node:path'
import { openCheckpoint } from './checkpoint/index.js'
import type { Checkpoint } from './checkpoint/types.js'
import { fromNative } from './errors.js'
import { describeModel } from './model.js'
import { loadNative, type NativeAddon, type NativeEngine, type NativeLoad } from './native.js'
import type { EngineSettings, LoadProgress } from './options/engine-options.js'
import { onAbort } from './runtime/abort.js'
import { EngineState } from './runtime/engine-state.js'
import { RequestTable } from './runtime/request-table.js'
import { loadText } from './text/index.js'

/** The folder of the model that ships with the package. */
export const embeddedModel = join(__dirname, '..', 'models', 'stories260k')

/** A fraction of the device's memory becomes bytes. */
function limitBytes(addon: NativeAddon, device: string, limit: number): number {
  if (limit > 1) return limit
  return Math.floor(limit * addon.memoryUse(device).totalBytes)
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
  const { device, threads, maxSequences, maxBatchTokens, blockSize, dtype, kvDType } = settings
  return {
    device,
    threads,
    spec: checkpoint.spec,
    manifest: checkpoint.manifest,
    options: {
      maxSequences,
      ...(maxBatchTokens !== null && { maxBatchTokens }),
      blockSize,
      ...(dtype !== null && { dtype }),
      ...(kvDType !== null && { kvDType }),
      memoryLimit: limitBytes(addon, device, settings.limit),
      kvBytes: settings.kvBytes ?? 0,
    },
  }
}

/** Resolves with the engine, or gives everything back and rejects. */
async function loadWeights(
  load: NativeLoad,
  addon: NativeAddon,
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
    ...(signal !== undefined && { signal }),
  }).catch((error: unknown) => {
    throw signal?.aborted ? signal.reason : error
  })
  signal?.throwIfAborted()
  const requests = new RequestTable()
  const addon = loadNative()
  let load: NativeLoad
  try {
    const callbacks = { onProgress: () => {}, onEvents: requests.dispatch }
    load = { ...nativeLoad(addon, checkpoint, settings), ...callbacks }
  } catch (error) {
    throw fromNative(error)
  }
  const native = await loadWeights(load, addon, settings)
  return new EngineState({ native, requests, model: describeModel(checkpoint, text), text })
}
