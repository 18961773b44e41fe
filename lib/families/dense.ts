/**
 * The decoder block that Llama, Mistral, Qwen2 and Qwen3 share: norm, attention, norm, gated MLP.
 * A family says how it differs from the plain block; the spec and the tensors' names follow.
 */
import { isTied, type Dimensions, type ModelConfig } from '../checkpoint/config.js'
import { contextLengthOf, ropeParametersOf } from '../checkpoint/rope-config.js'
import type { NativeLayer, NativeModelSpec, NativeRope } from '../native.js'
import { denseParameters } from './dense-parameters.js'
import type { Model } from './family.js'
import type { LayerWindow } from './windows.js'
import { ropeOf } from './rope.js'

export interface DenseTraits {
  family: string
  qkvBias: boolean
  outputBias: boolean
  mlpBias: boolean
  queryKeyNorm: boolean
  /** One a layer. */
  windows: LayerWindow[]
}

/** Throws as `ropeParametersOf` does. */
export function denseModel(
  config: ModelConfig,
  dimensions: Dimensions,
  traits: DenseTraits,
  hasHead: boolean,
): Model {
  const { ropes, indices, contextLength } = ropesOf(config, dimensions, traits.windows)
  const layers = traits.windows.map(({ type, window }): NativeLayer => ({
    attention: {
      heads: dimensions.heads,
      kvHeads: dimensions.kvHeads,
      headDim: dimensions.headDim,
      scale: dimensions.headDim ** -0.5,
      window,
      rope: indices.get(type) ?? 0,
      qkvBias: traits.qkvBias,
      outputBias: traits.outputBias,
      queryKeyNorm: traits.queryKeyNorm,
    },
    mlp: { intermediateSize: dimensions.intermediateSize, bias: traits.mlpBias },
  }))
  const spec: NativeModelSpec = {
    family: traits.family,
    vocabularySize: dimensions.vocabularySize,
    sampledVocabulary: dimensions.vocabularySize,
    hiddenSize: dimensions.hiddenSize,
    contextLength,
    normEpsilon: dimensions.normEpsilon,
    tiedEmbeddings: isTied(config, hasHead),
    ropes,
    layers,
  }
  return { spec, parameters: denseParameters(spec) }
}

interface Ropes {
  ropes: NativeRope[]
  /** Layer type → index in `ropes`; equal settings share one. */
  indices: Map<string, number>
  contextLength: number
}

function ropesOf(
  config: ModelConfig,
  dimensions: Dimensions,
  windows: readonly LayerWindow[],
): Ropes {
  const { maxPositions, headDim } = dimensions
  const ropes: NativeRope[] = []
  const indices = new Map<string, number>()
  const known = new Map<string, number>()
  let contextLength = Infinity
  for (const type of new Set(windows.map((window) => window.type))) {
    const parameters = ropeParametersOf(config.fields, type, maxPositions)
    contextLength = Math.min(contextLength, contextLengthOf(parameters, maxPositions))
    const key = JSON.stringify(parameters)
    const index = known.get(key) ?? ropes.push(ropeOf(parameters, headDim)) - 1
    known.set(key, index)
    indices.set(type, index)
  }
  return { ropes, indices, contextLength }
}
