/** `quant_method: "gptq"`: bits packed along the inputs, per-layer rules in `dynamic`. */
import type { CodeType } from '../../code-type.js'
import { Fields, shorten } from '../fields.js'
import { expressionOf, type ModuleMatch } from './module-rules.js'
import { groupSizes, noActivations, type Quantization, type QuantizationScheme } from './scheme.js'

const codeTypes: ReadonlyMap<number, CodeType> = new Map([
  [2, 'u2'],
  [3, 'u3'],
  [4, 'u4'],
  [8, 'u8'],
])

/** What is added to a stored zero: the first version of the format stores them less one. */
const zeroOffsets: ReadonlyMap<string, 0 | 1> = new Map([
  ['gptq', 1],
  ['gptq_v2', 0],
])

interface Rule {
  matches: ModuleMatch
  /** null: the layer is left as it is. */
  scheme: QuantizationScheme | null
}

/** Throws OCTAVO_UNSUPPORTED_MODEL and OCTAVO_CHECKPOINT_INVALID naming the key. */
export function gptqOf(config: Fields): Quantization {
  const formatKey = config.firstOf('checkpoint_format', 'format')
  const format = (formatKey && config.optionalString(formatKey)?.toLowerCase()) || 'gptq'
  const zeroOffset = zeroOffsets.get(format)
  if (zeroOffset === undefined) {
    const problem = `is "${shorten(format)}"; octavo reads "gptq" and "gptq_v2"`
    throw config.unsupported(formatKey ?? 'checkpoint_format', problem)
  }
  const words = config.optionalString('pack_dtype') ?? 'int32'
  if (words !== 'int32') {
    throw config.unsupported('pack_dtype', `is "${shorten(words)}"; octavo reads "int32"`)
  }
  const general = schemeOf(config, config, zeroOffset)
  const rules = rulesOf(config, zeroOffset)
  return {
    method: 'gptq',
    schemeOf(module) {
      const rule = rules.find(({ matches }) => matches(module))
      return rule === undefined ? general : rule.scheme
    },
  }
}

/** In their order: the first that matches decides. "-:" leaves a layer out, "+:" or nothing overrides. */
function rulesOf(config: Fields, zeroOffset: 0 | 1): Rule[] {
  const dynamic = config.optionalObject('dynamic')
  if (dynamic === null) return []
  return Object.keys(dynamic.values).map((key) => {
    const pattern = key.replace(/^[-+]:/, '')
    const matches = expressionOf(config.file, 'dynamic', pattern)
    if (key.startsWith('-:')) return { matches, scheme: null }
    const overrides = dynamic.optionalObject(key) ?? new Fields(config.file, {})
    return { matches, scheme: schemeOf(overrides, config, zeroOffset) }
  })
}

/** Bits and groups of `own`, else those of `general`. */
function schemeOf(own: Fields, general: Fields, zeroOffset: 0 | 1): QuantizationScheme {
  const pick = (key: string): Fields => (own.has(key) ? own : general)
  const bits = pick('bits').integer('bits', { max: 1024 })
  const codeType = codeTypes.get(bits)
  if (codeType === undefined) {
    const problem = `is ${bits}; octavo runs gptq weights of 2, 3, 4 and 8 bits`
    throw pick('bits').unsupported('bits', problem)
  }
  const groupColumns = groupSizeOf(pick('group_size'), 'group_size')
  const groups = groupColumns === null ? 'one group a row' : `groups of ${groupColumns}`
  return {
    name: `gptq of ${bits} bits in ${groups}`,
    layout: 'gptq',
    codeType,
    dtype: 'I32',
    groupRows: 1,
    groupColumns,
    zeroOffset,
    activations: noActivations,
    tensors: {
      codes: 'qweight',
      scales: ['scales'],
      zeros: 'qzeros',
      groupIndex: 'g_idx',
      inputScale: [],
      shape: null,
    },
  }
}

/** Null for −1, a whole row. Throws as `gptqOf` does. */
export function groupSizeOf(fields: Fields, key: string): number | null {
  const size = fields.optionalInteger(key, { min: -1, max: 2 ** 30 })
  if (size === null) throw fields.refusal(key, 'the columns of a group, or -1 for all of them')
  if (size === -1) return null
  if (groupSizes.includes(size)) return size
  const known = `octavo runs ${groupSizes.join(', ')}, and -1 for a whole row`
  throw fields.unsupported(key, `is ${size}; ${known}`)
}
