/** What the tensors of one linear layer are, as a quantisation config says. */
import type { CodeType } from '../../code-type.js'

export type QuantizationMethod = 'awq' | 'gptq' | 'compressed-tensors' | 'fp8'

/** Names behind the module's; of several the first that is there counts. */
export interface TensorNames {
  codes: string
  scales: readonly string[]
  zeros: string | null
  groupIndex: string | null
  inputScale: readonly string[]
  shape: string | null
}

export interface QuantizationScheme {
  /** For messages: "gptq of 4 bits in groups of 64". */
  name: string
  /** See StoredLayout in cpp/model/stored_tensor.h. */
  layout: 'gptq' | 'awq' | 'rows'
  codeType: CodeType
  /** Of the codes, by safetensors' name. */
  dtype: 'I32' | 'I8' | 'F8_E4M3'
  /** Rows and columns that share a scale; null: all of them. */
  groupRows: number | null
  groupColumns: number | null
  /** What is added to a stored zero. */
  zeroOffset: 0 | 1
  activations: { scaling: 'none' | 'static' | 'token' | 'group'; group: number }
  tensors: TensorNames
}

export interface Quantization {
  method: QuantizationMethod
  /**
   * Of a linear layer by its full name, "model.layers.0.mlp.up_proj"; null: the config leaves it as it is. Throws
   * OCTAVO_UNSUPPORTED_MODEL for a setting of a single layer that octavo does not run.
   */
  schemeOf(module: string): QuantizationScheme | null
}

/** Weights alone are quantised. */
export const noActivations: QuantizationScheme['activations'] = { scaling: 'none', group: 0 }

/** Columns of a group that kernels are made for. */
export const groupSizes: readonly number[] = [16, 32, 64, 128, 256, 512, 1024]
