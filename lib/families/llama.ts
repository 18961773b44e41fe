/** Llama 2 to 3.3, SmolLM2 and all that save as `LlamaForCausalLM`. */
import { dimensionsOf } from '../checkpoint/config.js'
import { denseModel } from './dense.js'
import type { Family } from './family.js'
import { fullWindows } from './windows.js'

export const llama: Family = {
  architectures: ['LlamaForCausalLM'],
  modelTypes: ['llama'],
  modelOf(config, hasHead) {
    const dimensions = dimensionsOf(config.fields)
    const attentionBias = config.fields.optionalBoolean('attention_bias') ?? false
    const traits = {
      family: 'llama',
      qkvBias: attentionBias,
      outputBias: attentionBias,
      mlpBias: config.fields.optionalBoolean('mlp_bias') ?? false,
      queryKeyNorm: false,
      windows: fullWindows(dimensions.layers),
    }
    return denseModel(config, dimensions, traits, hasHead)
  },
}
