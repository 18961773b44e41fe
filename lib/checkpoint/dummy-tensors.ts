/** The tensors that a model's files would hold, from its config alone: what dummy weights are made in the shapes of. */
import type { ParameterSource } from '../families/family.js'
import type { ModelConfig } from './config.js'
import { elementBits } from './dtypes.js'
import { shorten } from './fields.js'
import { shapesOf, type LinearLayer } from './quantization/parts.js'
import type { Quantization, QuantizationScheme } from './quantization/scheme.js'
import type { StoredTensor, TensorTable } from './tensors.js'

const floatNames: ReadonlyMap<string, string> = new Map([
  ['float32', 'F32'],
  ['bfloat16', 'BF16'],
  ['float16', 'F16'],
])

/**
 * Plain weights in the dtype that config.json states, else bf16; linear layers as its quantisation has them, but for the
 * head, which published models leave plain. Throws OCTAVO_UNSUPPORTED_MODEL for a dtype that octavo does not run.
 */
export function dummyTensors(
  parameters: readonly ParameterSource[],
  quantization: Quantization | null,
  config: ModelConfig,
): TensorTable {
  const dtype = dtypeOf(config)
  const tensors = new Map<string, StoredTensor>()
  const add = (name: string, stored: string, shape: readonly number[]): void => {
    const elements = shape.reduce((product, size) => product * size, 1)
    const bytes = (elements * elementBits.get(stored)!) / 8
    tensors.set(name, { name, dtype: stored, shape: [...shape], file: 0, offset: 0, bytes })
  }
  for (const { name, parts } of parameters) {
    for (const { tensor, shape } of parts) {
      const layer = name === 'embedding' || name === 'head' ? null : linearLayerOf(tensor, shape)
      const scheme = layer && quantization ? quantization.schemeOf(layer.module) : null
      if (layer === null || scheme === null) add(tensor, dtype, shape)
      else for (const part of partsOf(layer, scheme, dtype)) add(...part)
    }
  }
  return { files: [], fileNames: ['the dummy weights'], tensors }
}

function dtypeOf({ fields, root }: ModelConfig): string {
  for (const part of [fields, root]) {
    const key = part.firstOf('dtype', 'torch_dtype')
    const stated = key === null ? null : part.optionalString(key)
    if (key === null || stated === null || stated === 'auto') continue
    const dtype = floatNames.get(stated.replace(/^torch\./, ''))
    if (dtype !== undefined) return dtype
    const known = `dummy weights are ${[...floatNames.keys()].join(', ')}`
    throw part.unsupported(key, `is "${shorten(stated)}"; ${known}`)
  }
  return 'BF16'
}

function linearLayerOf(tensor: string, shape: readonly number[]): LinearLayer | null {
  const module = tensor.replace(/\.weight$/, '')
  const [rows, columns] = shape
  if (module === tensor || rows === undefined || columns === undefined) return null
  return { module, shape: [rows, columns] }
}

type StoredPart = [name: string, dtype: string, shape: readonly number[]]

/** Codes, scales, zeros and a scale of activations; groups in order need no index. */
function partsOf(layer: LinearLayer, scheme: QuantizationScheme, dtype: string): StoredPart[] {
  const { codes, scales, zeros, inputScale } = scheme.tensors
  const shapes = shapesOf(layer, scheme)
  const parts: StoredPart[] = [[codes, scheme.dtype, shapes.codes[0]!]]
  parts.push([scales[0]!, scheme.codeType === 'e4m3' ? 'F32' : dtype, shapes.scales[0]!])
  if (zeros !== null) parts.push([zeros, 'I32', shapes.zeros[0]!])
  if (inputScale.length > 0) parts.push([inputScale[0]!, 'F32', [1]])
  return parts.map(([suffix, stored, shape]) => [`${layer.module}.${suffix}`, stored, shape])
}
