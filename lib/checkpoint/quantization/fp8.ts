/** `quant_method: "fp8"`: e4m3 weights with a scale a block, as DeepSeek has them, or one a tensor. */
import { shorten, type Fields } from '../fields.js'
import { names } from './module-rules.js'
import type { Quantization, QuantizationScheme } from './scheme.js'

/** Throws OCTAVO_UNSUPPORTED_MODEL and OCTAVO_CHECKPOINT_INVALID naming the key. */
export function fp8Of(config: Fields): Quantization {
  const format = config.optionalString('fmt') ?? 'e4m3'
  if (format !== 'e4m3') {
    throw config.unsupported('fmt', `is "${shorten(format)}"; octavo runs fp8 weights of "e4m3"`)
  }
  const block = blockOf(config, 'weight_block_size')
  const scheme = schemeOf(block, activationsOf(config, block))
  const key = config.firstOf('modules_to_not_convert', 'ignored_layers')
  const left = key === null ? [] : (config.optionalStrings(key) ?? [])
  return {
    method: 'fp8',
    schemeOf: (module) => (left.some((name) => names(name, module)) ? null : scheme),
  }
}

/** [rows, columns] that share a scale; null where the key is absent. */
export function blockOf(config: Fields, key: string): [number, number] | null {
  const value = config.value(key)
  if (value === null) return null
  const fits = (size: unknown): size is number =>
    Number.isInteger(size) && (size as number) >= 1 && (size as number) <= 2 ** 20
  if (Array.isArray(value) && value.length === 2 && value.every(fits)) {
    if (value[1]! % 16 === 0) return value as [number, number]
    throw config.unsupported(key, `is [${value.join(', ')}]; blocks need a multiple of 16 columns`)
  }
  throw config.refusal(key, 'two positive integers')
}

function activationsOf(
  config: Fields,
  block: [number, number] | null,
): QuantizationScheme['activations'] {
  const scheme = config.optionalString('activation_scheme') ?? 'dynamic'
  if (scheme === 'static' && block === null) return { scaling: 'static', group: 0 }
  if (scheme === 'dynamic') {
    return block === null ? { scaling: 'token', group: 0 } : { scaling: 'group', group: block[1] }
  }
  const known = `octavo runs "dynamic"${block === null ? ' and "static"' : ' with blocks'}`
  throw config.unsupported('activation_scheme', `is "${shorten(scheme)}"; ${known}`)
}

function schemeOf(
  block: [number, number] | null,
  activations: QuantizationScheme['activations'],
): QuantizationScheme {
  const [groupRows, groupColumns] = block ?? [null, null]
  const groups = block === null ? 'with one scale' : `in blocks of ${groupRows}×${groupColumns}`
  return {
    name: `fp8 ${groups}`,
    layout: 'rows',
    codeType: 'e4m3',
    dtype: 'F8_E4M3',
    groupRows,
    groupColumns,
    zeroOffset: 0,
    activations,
    tensors: {
      codes: 'weight',
      scales: ['weight_scale_inv', 'weight_scale'],
      zeros: null,
      groupIndex: null,
      inputScale: activations.scaling === 'static' ? ['input_scale', 'activation_scale'] : [],
      shape: null,
    },
  }
}
