/** config.json in the spellings of transformers 4 and 5, made one. */
import { OctavoError } from '../errors.js'
import type { Fields } from './fields.js'
import { shorten } from './fields.js'

export interface ModelConfig {
  /** The language model's values: the root, or its `text_config` in a multimodal wrapper. */
  fields: Fields
  root: Fields
  /** `architectures[0]` and `model_type` of the root; null where it names none. */
  architecture: string | null
  modelType: string | null
  /** The same of the `text_config`. */
  textArchitecture: string | null
  textModelType: string | null
}

/** Numbers that every decoder of the common block has. */
export interface Dimensions {
  vocabularySize: number
  hiddenSize: number
  intermediateSize: number
  layers: number
  heads: number
  kvHeads: number
  headDim: number
  maxPositions: number
  normEpsilon: number
}

/** Far above any model; the bounds of cpp/model/model_spec.cc, which refuses more. */
const largest = {
  vocabulary: 2 ** 24,
  hidden: 2 ** 18,
  intermediate: 2 ** 22,
  layers: 4096,
  heads: 4096,
}

/** Tokens of a context or of an attention window, at most: also of cpp/model/model_spec.cc. */
export const largestContext = 2 ** 27

/** Decoder kernels are made for head sizes up to this. */
const largestHeadDim = 256

/** Throws OCTAVO_CHECKPOINT_INVALID for odd types. */
export function modelConfigOf(root: Fields): ModelConfig {
  const text = root.optionalObject('text_config')
  return {
    fields: text ?? root,
    root,
    architecture: root.optionalStrings('architectures')?.[0] ?? null,
    modelType: root.optionalString('model_type'),
    textArchitecture: text?.optionalStrings('architectures')?.[0] ?? null,
    textModelType: text?.optionalString('model_type') ?? null,
  }
}

/**
 * Throws OCTAVO_CHECKPOINT_INVALID naming the key, OCTAVO_UNSUPPORTED_MODEL for head sizes and activations
 * that the kernels do not run. `headDim` is the family's own default, else hidden size / heads.
 */
export function dimensionsOf(fields: Fields, defaults: { headDim?: number } = {}): Dimensions {
  const hiddenSize = fields.integer('hidden_size', { max: largest.hidden })
  const heads = fields.integer('num_attention_heads', { max: largest.heads })
  const kvHeads = fields.optionalInteger('num_key_value_heads', { max: largest.heads }) ?? heads
  if (heads % kvHeads !== 0) {
    throw fields.refusal('num_key_value_heads', `a divisor of the ${heads} attention heads`)
  }
  const activation = fields.optionalString('hidden_act') ?? 'silu'
  if (activation !== 'silu') {
    throw fields.unsupported(
      'hidden_act',
      `is "${shorten(activation)}"; this family runs with "silu"`,
    )
  }
  return {
    vocabularySize: fields.integer('vocab_size', { max: largest.vocabulary }),
    hiddenSize,
    intermediateSize: fields.integer('intermediate_size', { max: largest.intermediate }),
    layers: fields.integer('num_hidden_layers', { max: largest.layers }),
    heads,
    kvHeads,
    headDim: headDimOf(fields, hiddenSize, heads, defaults.headDim),
    maxPositions: fields.integer('max_position_embeddings', { max: largestContext }),
    normEpsilon: fields.optionalNumber('rms_norm_eps', { above: 0, max: 1 }) ?? 1e-6,
  }
}

/**
 * Whether the head is the embedding. The key decides: true ties even if `lm_head.weight` is in the files
 * (transformers ignores it), false unties. Without the key the tensor's absence ties: transformers 5 leaves
 * a tied copy out.
 */
export function isTied(config: ModelConfig, hasHead: boolean): boolean {
  const key = 'tie_word_embeddings'
  const stated = config.fields.optionalBoolean(key) ?? config.root.optionalBoolean(key)
  return stated ?? !hasHead
}

function headDimOf(fields: Fields, hiddenSize: number, heads: number, fallback?: number): number {
  const stated = fields.optionalInteger('head_dim', { max: largest.hidden }) ?? fallback
  const headDim = stated ?? hiddenSize / heads
  if (!Number.isInteger(headDim)) {
    throw fields.refusal(
      'num_attention_heads',
      `a divisor of hidden_size ${hiddenSize}, or head_dim given`,
    )
  }
  if (headDim % 2 === 0 && headDim <= largestHeadDim) return headDim
  const limits = `rotary attention needs an even head size of at most ${largestHeadDim}`
  throw new OctavoError(
    'OCTAVO_UNSUPPORTED_MODEL',
    `${fields.file}: the head size is ${headDim}; ${limits}`,
  )
}
