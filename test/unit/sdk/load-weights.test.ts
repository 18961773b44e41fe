/** Who gives up a load whose engine comes nevertheless: it is disposed before the load rejects. */
import { loadWeights } from '../../../lib/load.js'
import type { NativeAddon, NativeEngine, NativeLoad } from '../../../lib/native.js'
import { readEngineOptions, type EngineOptions } from '../../../lib/options/engine-options.js'

const load = {} as NativeLoad

/** An addon whose load has ended before a cancel can reach it. */
class FinishedLoad {
  readonly calls: string[] = []
  readonly #meanwhile: (load: NativeLoad) => void

  constructor(meanwhile: (load: NativeLoad) => void) {
    this.#meanwhile = meanwhile
  }

  readonly #engine = {
    disposeAsync: async () => {
      this.calls.push('dispose')
      await Promise.resolve()
      this.calls.push('disposed')
    },
  } as NativeEngine

  readonly loadEngine: NativeAddon['loadEngine'] = (given) => {
    queueMicrotask(() => this.#meanwhile(given))
    const engine = new Promise<NativeEngine>((resolve) => setImmediate(resolve, this.#engine))
    return { promise: engine, cancel: () => this.calls.push('cancel') }
  }

  async outcome(options: EngineOptions): Promise<unknown> {
    try {
      return await loadWeights(load, this, readEngineOptions(options))
    } catch (error) {
      this.calls.push('rejected')
      return error
    }
  }
}

it('gives the engine where no one gave up', async () => {
  const addon = new FinishedLoad(() => {})
  expect(await addon.outcome({})).toHaveProperty('disposeAsync')
  expect(addon.calls).toEqual([])
})

it('after an abort', async () => {
  const controller = new AbortController()
  const addon = new FinishedLoad(() => controller.abort('enough'))
  expect(await addon.outcome({ signal: controller.signal })).toBe('enough')
  expect(addon.calls).toEqual(['cancel', 'dispose', 'disposed', 'rejected'])
})

it('after a throw of onProgress', async () => {
  const mistake = new Error('a bug of the caller')
  const onProgress = (): void => {
    throw mistake
  }
  const addon = new FinishedLoad(({ onProgress: report }) => report(1, 2))
  expect(await addon.outcome({ onProgress })).toBe(mistake)
  expect(addon.calls).toEqual(['cancel', 'dispose', 'disposed', 'rejected'])
})
