/** An Engine over a scripted native engine. */
import { Engine } from '../../lib/engine.js'
import type { Model } from '../../lib/model.js'
import { EngineState } from '../../lib/runtime/engine-state.js'
import { RequestTable } from '../../lib/runtime/request-table.js'
import type { TextModel } from '../../lib/text/types.js'
import { FakeNativeEngine } from './native-engine.js'
import { wordText } from './text.js'

/** Token ids are places in this list; 8 is the EOS, 9 has no text in `wordText`. */
export const words = ['a', 'b', 'c', 'd', ' ', 'STOP', 'ST', 'OP', '.', '']

export interface FakeEngine {
  engine: Engine
  native: FakeNativeEngine
  requests: RequestTable
}

export function fakeEngine(text: TextModel | null = wordText(words)): FakeEngine {
  const native = new FakeNativeEngine()
  const requests = new RequestTable()
  native.onEvents = requests.dispatch
  const model: Model = {
    folder: '/models/fake',
    architecture: 'Fake',
    family: 'fake',
    parameters: 1,
    layers: 1,
    hiddenSize: 1,
    vocabularySize: words.length,
    contextLength: 1000,
    quantization: null,
    dtype: 'fp32',
    weightBytes: 4,
    loadFormat: 'files',
    eosTokenIds: [8],
    generation: { greedy: true },
  }
  const state = new EngineState({ native, requests, model, text })
  return { engine: new Engine(state, 'created\n    at fake'), native, requests }
}
