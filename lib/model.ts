/** Facts about the loaded model. */
import type { Checkpoint, GenerationDefaults } from './checkpoint/types.js'
import type { NativeDType } from './native.js'
import type { TextModel } from './text/types.js'

/** What a checkpoint says about itself. */
export interface Model {
  /** The folder it was read from. */
  readonly folder: string
  /** As config.json names it: 'LlamaForCausalLM'. */
  readonly architecture: string
  /** 'llama', 'qwen2', 'qwen3' … */
  readonly family: string
  /** Number of weights, tied ones counted once. */
  readonly parameters: number
  readonly layers: number
  readonly hiddenSize: number
  /** Token ids below this exist; columns of `engine.logits`. */
  readonly vocabularySize: number
  /** Tokens a sequence may have, prompt and output together. */
  readonly contextLength: number
  /** How the linear layers are quantised; null: they are not. */
  readonly quantization: 'awq' | 'gptq' | 'compressed-tensors' | 'fp8' | null
  /** Of the matrices in the files, of those that are not quantised. */
  readonly dtype: NativeDType
  /** Bytes of the weights in the files; of dummy weights, what the files would hold. */
  readonly weightBytes: number
  /** Whether the weights were read from files, or made at random. */
  readonly loadFormat: 'files' | 'dummy'
  /** Token ids that end a generation. */
  readonly eosTokenIds: readonly number[]
  /** Sampling defaults from generation_config.json. */
  readonly generation: Readonly<GenerationDefaults>
}

/** Frozen at every level: the engine reads the same objects that a caller sees. */
export function describeModel(checkpoint: Checkpoint, text: TextModel | null): Model {
  const { spec } = checkpoint
  const eos = new Set([...checkpoint.eosTokenIds, ...(text?.tokenizer.eosTokenIds ?? [])])
  return Object.freeze({
    folder: checkpoint.folder,
    architecture: checkpoint.architecture,
    family: spec.family,
    parameters: checkpoint.parameters,
    layers: spec.layers.length,
    hiddenSize: spec.hiddenSize,
    vocabularySize: spec.vocabularySize,
    contextLength: spec.contextLength,
    quantization: checkpoint.quantization,
    dtype: checkpoint.dtype,
    weightBytes: checkpoint.weightBytes,
    loadFormat: checkpoint.isDummy ? 'dummy' : 'files',
    eosTokenIds: Object.freeze([...eos].sort((a, b) => a - b)),
    generation: Object.freeze({ ...checkpoint.generation }),
  })
}
