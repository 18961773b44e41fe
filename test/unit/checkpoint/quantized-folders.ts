/** The tiny Llama with linear layers in codes: headers as each format writes them, data of zeros. */
import { tinyConfig, tinyTensors, makeFolder, safetensorsOf, type TensorOf } from './folders.js'

export type Tensors = Record<string, TensorOf>

/** Sizes that fill whole words of every format. */
export const quantizableConfig = {
  ...tinyConfig,
  hidden_size: 64,
  intermediate_size: 96,
  num_attention_heads: 2,
  num_key_value_heads: 1,
}

const layers: Record<string, readonly [rows: number, columns: number]> = {
  'self_attn.q_proj': [64, 64],
  'self_attn.k_proj': [32, 64],
  'self_attn.v_proj': [32, 64],
  'self_attn.o_proj': [64, 64],
  'mlp.gate_proj': [96, 64],
  'mlp.up_proj': [96, 64],
  'mlp.down_proj': [64, 96],
}

const ceil = (value: number, step: number): number => Math.ceil(value / step)

/** Tensors of one layer. */
export type Format = (rows: number, columns: number) => Tensors

export const gptq =
  (bits = 4, group = 32): Format =>
  (rows, columns) => {
    const groups = group < 0 ? 1 : ceil(columns, group)
    return {
      qweight: { dtype: 'I32', shape: [(columns * bits) / 32, rows] },
      qzeros: { dtype: 'I32', shape: [groups, (rows * bits) / 32] },
      scales: { dtype: 'F16', shape: [groups, rows] },
      g_idx: { dtype: 'I32', shape: [columns] },
    }
  }

export const awq =
  (group = 32): Format =>
  (rows, columns) => ({
    qweight: { dtype: 'I32', shape: [columns, rows / 8] },
    qzeros: { dtype: 'I32', shape: [ceil(columns, group), rows / 8] },
    scales: { dtype: 'F16', shape: [ceil(columns, group), rows] },
  })

export const packed =
  (bits = 4, group = 32): Format =>
  (rows, columns) => ({
    weight_packed: { dtype: 'I32', shape: [rows, ceil(columns * bits, 32)] },
    weight_scale: { dtype: 'BF16', shape: [rows, ceil(columns, group)] },
    weight_shape: { dtype: 'I64', shape: [2] },
  })

export const fp8Blocks: Format = (rows, columns) => ({
  weight: { dtype: 'F8_E4M3', shape: [rows, columns] },
  weight_scale_inv: { dtype: 'F32', shape: [ceil(rows, 128), ceil(columns, 128)] },
})

export const fp8Static: Format = (rows, columns) => ({
  weight: { dtype: 'F8_E4M3', shape: [rows, columns] },
  weight_scale: { dtype: 'BF16', shape: [1] },
  input_scale: { dtype: 'BF16', shape: [1] },
})

export const int8: Format = (rows, columns) => ({
  weight: { dtype: 'I8', shape: [rows, columns] },
  weight_scale: { dtype: 'BF16', shape: [rows, 1] },
})

/** All tensors of the model, every linear layer in a format; `change` may spoil them. */
export function quantizedTensors(format: Format, change: (tensors: Tensors) => void): Tensors {
  const tensors = Object.fromEntries(
    Object.entries(tinyTensors('BF16')).map(([name, { dtype, shape }]) => {
      const sizes: Record<number, number> = { 8: 64, 4: 32, 12: 96 }
      return [name, { dtype, shape: shape.map((size) => sizes[size] ?? size) }]
    }),
  )
  for (const [layer, [rows, columns]] of Object.entries(layers)) {
    const module = `model.layers.0.${layer}`
    delete tensors[`${module}.weight`]
    for (const [name, tensor] of Object.entries(format(rows, columns))) {
      tensors[`${module}.${name}`] = tensor
    }
  }
  change(tensors)
  return tensors
}

export function quantizedFolder(
  quantization: object | null,
  format: Format,
  change: (tensors: Tensors) => void = () => undefined,
  files: Record<string, object> = {},
): string {
  return makeFolder({
    'config.json': {
      ...quantizableConfig,
      ...(quantization !== null && { quantization_config: quantization }),
    },
    'model.safetensors': safetensorsOf(quantizedTensors(format, change)),
    ...files,
  })
}
