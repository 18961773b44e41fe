/** One group of a compressed-tensors config: how its weights and activations are quantised. */
import { shorten, type Fields } from '../fields.js'
import { blockOf } from './fp8.js'
import { groupSizeOf } from './gptq.js'
import { noActivations, type QuantizationScheme } from './scheme.js'

const codeKinds = {
  'pack-quantized': { type: 'int', bits: [4, 8] },
  'int-quantized': { type: 'int', bits: [8] },
  'float-quantized': { type: 'float', bits: [8] },
} as const

type Format = keyof typeof codeKinds

/** Rows and columns that share a scale. */
type Groups = Pick<QuantizationScheme, 'groupRows' | 'groupColumns'>

/** `general`: the format of the whole config. Throws OCTAVO_UNSUPPORTED_MODEL, OCTAVO_CHECKPOINT_INVALID. */
export function compressedSchemeOf(group: Fields, general: string | null): QuantizationScheme {
  const weights = group.optionalObject('weights')
  if (weights === null) throw group.refusal('weights', 'an object')
  const format = formatOf(group, weights, general)
  const bits = requireCodes(weights, format)
  const isPacked = format === 'pack-quantized'
  const isSymmetric = weights.optionalBoolean('symmetric') ?? true
  if (!isSymmetric && !isPacked) {
    throw weights.unsupported('symmetric', `is false; octavo runs it with "pack-quantized" alone`)
  }
  if (group.has('output_activations')) {
    throw group.unsupported('output_activations', 'is set; octavo quantises the inputs of a layer')
  }
  const groups = groupsOf(weights, format)
  const activations = activationsOf(group, format, groups)
  const isFloat = format === 'float-quantized'
  return {
    name: `${format} of ${bits} bits`,
    layout: 'rows',
    codeType: isFloat ? 'e4m3' : isPacked ? (bits === 4 ? 'u4' : 'u8') : 'i8',
    dtype: isFloat ? 'F8_E4M3' : isPacked ? 'I32' : 'I8',
    ...groups,
    zeroOffset: 0,
    activations,
    tensors: {
      codes: isPacked ? 'weight_packed' : 'weight',
      scales: ['weight_scale'],
      zeros: isSymmetric ? null : 'weight_zero_point',
      groupIndex: isPacked ? 'weight_g_idx' : null,
      inputScale: activations.scaling === 'static' ? ['input_scale'] : [],
      shape: isPacked ? 'weight_shape' : null,
    },
  }
}

function formatOf(group: Fields, weights: Fields, general: string | null): Format {
  const own = group.optionalString('format')
  const format = own ?? general ?? 'pack-quantized'
  if (Object.hasOwn(codeKinds, format)) return format as Format
  // Codes of their own, unpacked, whatever the type: the same tensors as the two above.
  if (format === 'naive-quantized') {
    return weights.optionalString('type') === 'float' ? 'float-quantized' : 'int-quantized'
  }
  const known = `octavo reads ${Object.keys(codeKinds).join(', ')} and naive-quantized`
  throw group.unsupported('format', `is "${shorten(format)}"; ${known}`)
}

function requireCodes(weights: Fields, format: Format): number {
  const { type, bits: known } = codeKinds[format]
  const stated = weights.optionalString('type') ?? 'int'
  if (stated !== type) {
    throw weights.unsupported('type', `is "${shorten(stated)}"; ${format} weights are "${type}"`)
  }
  const bits = weights.integer('num_bits', { max: 1024 })
  if ((known as readonly number[]).includes(bits)) return bits
  const problem = `is ${bits}; octavo runs ${format} weights of ${known.join(' and ')} bits`
  throw weights.unsupported('num_bits', problem)
}

function groupsOf(weights: Fields, format: Format): Groups {
  const strategy = weights.optionalString('strategy') ?? 'tensor'
  const isPacked = format === 'pack-quantized'
  if (strategy === 'channel') return { groupRows: 1, groupColumns: null }
  if (strategy === 'tensor' && !isPacked) return { groupRows: null, groupColumns: null }
  if (strategy === 'group' && isPacked) {
    return { groupRows: 1, groupColumns: groupSizeOf(weights, 'group_size') }
  }
  if (strategy === 'block' && format === 'float-quantized') {
    const block = blockOf(weights, 'block_structure')
    if (block === null) throw weights.refusal('block_structure', 'two positive integers')
    return { groupRows: block[0], groupColumns: block[1] }
  }
  throw weights.unsupported(
    'strategy',
    `is "${shorten(strategy)}", which octavo does not run for ${format} weights`,
  )
}

/** Inputs become codes of the weights' own type, symmetric, of eight bits. */
function activationsOf(
  group: Fields,
  format: Format,
  { groupColumns }: Groups,
): QuantizationScheme['activations'] {
  const inputs = group.optionalObject('input_activations')
  if (inputs === null) return noActivations
  const refuse = (key: string, problem: string): never => {
    throw inputs.unsupported(key, `${problem} for the inputs of ${format} weights`)
  }
  if (format === 'pack-quantized') {
    throw group.unsupported('input_activations', 'is set; octavo runs packed weights without')
  }
  const { type } = codeKinds[format]
  const stated = inputs.optionalString('type') ?? 'int'
  if (stated !== type) refuse('type', `is "${shorten(stated)}"; octavo runs "${type}"`)
  const bits = inputs.integer('num_bits', { max: 1024 })
  if (bits !== 8) refuse('num_bits', `is ${bits}; octavo runs 8`)
  if (inputs.optionalBoolean('symmetric') === false)
    refuse('symmetric', 'is false; octavo runs true')
  const strategy = inputs.optionalString('strategy') ?? 'tensor'
  const dynamic = inputs.value('dynamic') ?? false
  if (typeof dynamic !== 'boolean') refuse('dynamic', 'must be true or false')
  if (!dynamic && strategy === 'tensor') return { scaling: 'static', group: 0 }
  if (dynamic && strategy === 'token') return { scaling: 'token', group: 0 }
  if (dynamic && strategy === 'group') {
    const size = groupSizeOf(inputs, 'group_size')
    if (size !== null && (groupColumns === null || groupColumns === size)) {
      return { scaling: 'group', group: size }
    }
  }
  return refuse('strategy', `is "${shorten(strategy)}", ${dynamic ? 'dynamic' : 'static'}`)
}
