/** Mistral 7B, Nemo and Small: Llama's block, a sliding window where the config states one, no biases. */
import { dimensionsOf } from '../checkpoint/config.js'
import { denseModel } from './dense.js'
import type { Family } from './family.js'
import { mistralWindows } from './windows.js'

export const mistral: Family = {
  architectures: ['MistralForCausalLM'],
  modelTypes: ['mistral'],
  modelOf(config, hasHead) {
    const dimensions = dimensionsOf(config.fields)
    const traits = {
      family: 'mistral',
      qkvBias: false,
      outputBias: false,
      mlpBias: false,
      queryKeyNorm: false,
      windows: mistralWindows(config.fields, dimensions.layers),
    }
    return denseModel(config, dimensions, traits, hasHead)
  },
}
