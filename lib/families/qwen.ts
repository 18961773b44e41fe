/** Qwen2, Qwen2.5 (biases on q, k and v) and Qwen3 (q and k normalised per head before the rope). */
import { dimensionsOf } from '../checkpoint/config.js'
import { denseModel } from './dense.js'
import type { Family } from './family.js'
import { qwenWindows } from './windows.js'

export const qwen2: Family = {
  architectures: ['Qwen2ForCausalLM'],
  modelTypes: ['qwen2'],
  modelOf(config, hasHead) {
    const dimensions = dimensionsOf(config.fields)
    const traits = {
      family: 'qwen2',
      qkvBias: true,
      outputBias: false,
      mlpBias: false,
      queryKeyNorm: false,
      windows: qwenWindows(config.fields, dimensions.layers),
    }
    return denseModel(config, dimensions, traits, hasHead)
  },
}

export const qwen3: Family = {
  architectures: ['Qwen3ForCausalLM'],
  modelTypes: ['qwen3'],
  modelOf(config, hasHead) {
    const dimensions = dimensionsOf(config.fields, { headDim: 128 })
    const attentionBias = config.fields.optionalBoolean('attention_bias') ?? false
    const traits = {
      family: 'qwen3',
      qkvBias: attentionBias,
      outputBias: attentionBias,
      mlpBias: false,
      queryKeyNorm: true,
      windows: qwenWindows(config.fields, dimensions.layers),
    }
    return denseModel(config, dimensions, traits, hasHead)
  },
}
