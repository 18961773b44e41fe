/** What a model family is: config in, a runnable spec and the tensors it is made of out. */
import type { ModelConfig } from '../checkpoint/config.js'
import type { NativeModelSpec } from '../native.js'

export interface Family {
  /** `architectures[0]` values it takes. */
  architectures: readonly string[]
  /** `model_type` values it takes where a config names no architecture. */
  modelTypes: readonly string[]
  /**
   * `hasHead`: whether the files hold `lm_head.weight`. Throws OCTAVO_CHECKPOINT_INVALID or
   * OCTAVO_UNSUPPORTED_MODEL naming the key.
   */
  modelOf(config: ModelConfig, hasHead: boolean): Model
}

export interface Model {
  spec: NativeModelSpec
  /** In load order. */
  parameters: ParameterSource[]
}

/** A canonical parameter (cpp/model/model_spec.h) and the tensors whose rows it is, in order. */
export interface ParameterSource {
  name: string
  parts: TensorSource[]
}

/** A tensor by its name in a plain Hugging Face checkpoint: `model.layers.0.mlp.up_proj.weight`. */
export interface TensorSource {
  tensor: string
  shape: number[]
}
