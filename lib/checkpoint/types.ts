/** What a checkpoint folder becomes: data for the runtime, nothing of its file format. */
import type { NativeDType, NativeModelSpec, NativeWeightManifest } from '../native.js'
import type { QuantizationMethod } from './quantization/scheme.js'

/** What the model's own files say about generating; every field absent where they say nothing. */
export interface GenerationDefaults {
  temperature?: number
  topK?: number
  topP?: number
  repetitionPenalty?: number
  maxNewTokens?: number
  /** generation_config's `do_sample: false`, or no file at all, means greedy is the model's default. */
  greedy: boolean
}

export interface Checkpoint {
  folder: string
  architecture: string
  spec: NativeModelSpec
  manifest: NativeWeightManifest
  /** No weights are read: they are made at random. */
  isDummy: boolean
  /** Of config.json; null: plain weights. */
  quantization: QuantizationMethod | null
  /** Of the plain matrices. */
  dtype: NativeDType
  weightBytes: number
  parameters: number
  bosTokenId: number | null
  /** Union of generation_config, config and (added by the engine) the tokenizer's. */
  eosTokenIds: number[]
  generation: GenerationDefaults
  /** Tensors in the files that the model does not use: reported, not refused, when known harmless. */
  ignoredTensors: string[]
}
