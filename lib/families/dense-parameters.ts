/** Canonical parameters of a dense spec and the Hugging Face tensors they are made of. */
import type { NativeLayer, NativeModelSpec } from '../native.js'
import type { ParameterSource } from './family.js'

/** Every parameter of cpp/model/model_spec.h, in its order. */
export function denseParameters(spec: NativeModelSpec): ParameterSource[] {
  const { vocabularySize, hiddenSize } = spec
  const embedding = single('embedding', 'model.embed_tokens.weight', [vocabularySize, hiddenSize])
  const layers = spec.layers.flatMap((layer, index) => layerParameters(layer, index, hiddenSize))
  const norm = single('finalNorm', 'model.norm.weight', [hiddenSize])
  const head = single('head', 'lm_head.weight', [vocabularySize, hiddenSize])
  return [embedding, ...layers, norm, ...(spec.tiedEmbeddings ? [] : [head])]
}

function layerParameters(
  { attention, mlp }: NativeLayer,
  index: number,
  hidden: number,
): ParameterSource[] {
  const { heads, kvHeads, headDim, qkvBias, outputBias, queryKeyNorm } = attention
  const query = heads * headDim
  const keyValue = kvHeads * headDim
  const inner = mlp.intermediateSize
  const layer = `model.layers.${index}`
  const self = `${layer}.self_attn`
  const gated = `${layer}.mlp`

  const weights = (prefix: string, rows: Record<string, number>, columns: number): TensorList =>
    Object.entries(rows).map(([name, size]) => [`${prefix}.${name}.weight`, [size, columns]])
  const biases = (prefix: string, rows: Record<string, number>): TensorList =>
    Object.entries(rows).map(([name, size]) => [`${prefix}.${name}.bias`, [size]])
  const qkv = { q_proj: query, k_proj: keyValue, v_proj: keyValue }
  const gateUp = { gate_proj: inner, up_proj: inner }

  const parameters: [name: string, wanted: boolean, tensors: TensorList][] = [
    ['attention.norm', true, [[`${layer}.input_layernorm.weight`, [hidden]]]],
    ['attention.qkv', true, weights(self, qkv, hidden)],
    ['attention.qkvBias', qkvBias, biases(self, qkv)],
    ['attention.queryNorm', queryKeyNorm, [[`${self}.q_norm.weight`, [headDim]]]],
    ['attention.keyNorm', queryKeyNorm, [[`${self}.k_norm.weight`, [headDim]]]],
    ['attention.output', true, weights(self, { o_proj: hidden }, query)],
    ['attention.outputBias', outputBias, biases(self, { o_proj: hidden })],
    ['mlp.norm', true, [[`${layer}.post_attention_layernorm.weight`, [hidden]]]],
    ['mlp.gateUp', true, weights(gated, gateUp, hidden)],
    ['mlp.gateUpBias', mlp.bias, biases(gated, gateUp)],
    ['mlp.down', true, weights(gated, { down_proj: hidden }, inner)],
    ['mlp.downBias', mlp.bias, biases(gated, { down_proj: hidden })],
  ]
  return parameters
    .filter(([, wanted]) => wanted)
    .map(([name, , tensors]) => ({
      name: `layers.${index}.${name}`,
      parts: tensors.map(([tensor, shape]) => ({ tensor, shape })),
    }))
}

type TensorList = [tensor: string, shape: number[]][]

function single(name: string, tensor: string, shape: number[]): ParameterSource {
  return { name, parts: [{ tensor, shape }] }
}
