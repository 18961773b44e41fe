/** `quant_method: "awq"`: four bits packed along the outputs, in AutoAWQ's "GEMM" order. */
import { shorten, type Fields } from '../fields.js'
import { groupSizeOf } from './gptq.js'
import { names } from './module-rules.js'
import { noActivations, type Quantization, type QuantizationScheme } from './scheme.js'

/** Throws OCTAVO_UNSUPPORTED_MODEL and OCTAVO_CHECKPOINT_INVALID naming the key. */
export function awqOf(config: Fields): Quantization {
  const bitsKey = config.firstOf('bits', 'w_bit') ?? 'bits'
  const bits = config.integer(bitsKey, { max: 1024 })
  if (bits !== 4) throw config.unsupported(bitsKey, `is ${bits}; octavo runs awq weights of 4 bits`)
  for (const key of ['version', 'format', 'checkpoint_format']) {
    const version = config.optionalString(key)?.toLowerCase() ?? 'gemm'
    if (version === 'gemm') continue
    throw config.unsupported(key, `is "${shorten(version)}"; octavo reads awq weights of "gemm"`)
  }
  if (config.optionalBoolean('zero_point') === false) {
    throw config.unsupported('zero_point', 'is false; octavo reads awq weights with zeros')
  }
  const sizeKey = config.firstOf('group_size', 'q_group_size') ?? 'group_size'
  const scheme = schemeOf(groupSizeOf(config, sizeKey))
  const left = config.optionalStrings('modules_to_not_convert') ?? []
  return {
    method: 'awq',
    schemeOf: (module) => (left.some((name) => names(name, module)) ? null : scheme),
  }
}

function schemeOf(groupColumns: number | null): QuantizationScheme {
  const groups = groupColumns === null ? 'one group a row' : `groups of ${groupColumns}`
  return {
    name: `awq of 4 bits in ${groups}`,
    layout: 'awq',
    codeType: 'u4',
    dtype: 'I32',
    groupRows: 1,
    groupColumns,
    zeroOffset: 0,
    activations: noActivations,
    tensors: {
      codes: 'qweight',
      scales: ['scales'],
      zeros: 'qzeros',
      groupIndex: null,
      inputScale: [],
      shape: null,
    },
  }
}
