/** A weight as a checkpoint stores it, checked before anything is uploaded. */
import { codeBits, type CodeType } from '../code-type.js'
import { OctavoError } from '../errors.js'
import { OptionReader, show } from '../options/reader.js'
import { bytesOf } from './dtype.js'
import type { FloatDType } from './dtype.js'
import { int32s } from './indices.js'
import type { Int32s } from './indices.js'

/**
 * What a product makes of a row of x first: `c · s` with `c = round(x / s)`, an int8 or e4m3 code as the weight has.
 * `static`: s is `inputScale`. `token`: the largest magnitude of the row becomes the largest code; `group`: that of
 * every `group` columns.
 */
export interface ActivationQuantization {
  scaling: 'static' | 'token' | 'group'
  group?: number
  inputScale?: number
}

/** A weight as a checkpoint stores it. */
export interface StoredWeight {
  /**
   * `gptq`: words packed along K, `[K · bits / 32, N]`, zeros stored less 1; `gptq_v2`: zeros as they are; `awq`: words
   * `[K, N / 8]` in AWQ's order; `rows`: a row of codes after the other, from a whole word on (compressed-tensors, fp8).
   */
  layout: 'gptq' | 'gptq_v2' | 'awq' | 'rows'
  codeType: CodeType
  /** N, the outputs. */
  rows: number
  /** K, the inputs. */
  columns: number
  /** Their bytes, in whatever typed array. */
  codes: ArrayBufferView
  scaleType: FloatDType
  /** `[groups, N]` for gptq and awq, else `[⌈N / groupRows⌉, groups]`; or one for all of them (`rows`). */
  scales: Float32Array | Uint16Array
  /** Columns that share a scale; default all. */
  groupColumns?: number
  /** Rows that share a scale; default 1. */
  groupRows?: number
  /** Words, packed as the layout has them: `[groups, N · bits / 32]`, or `[⌈N · bits / 32⌉, groups]` for `rows`. */
  zeros?: ArrayBufferView
  /** The group of every column; default `k / groupColumns`. */
  groupIndex?: Int32s
  activations?: ActivationQuantization
}

const storedNames: Record<keyof StoredWeight, true> = {
  layout: true,
  codeType: true,
  rows: true,
  columns: true,
  codes: true,
  scaleType: true,
  scales: true,
  groupColumns: true,
  groupRows: true,
  zeros: true,
  groupIndex: true,
  activations: true,
}

export const ceilDivide = (value: number, divisor: number): number => Math.ceil(value / divisor)

function refuse(sentence: string): never {
  throw new OctavoError('OCTAVO_INVALID_ARGUMENT', sentence)
}

function requireSize(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value < 2 ** 28) return
  refuse(`${name} is ${show(value)}: expected a positive integer below 2^28`)
}

function requireView(name: string, values: unknown): void {
  if (!ArrayBuffer.isView(values)) refuse(`${name} is ${show(values)}: expected a typed array`)
}

/** Throws unless the values are as many bytes as the shape takes. */
function requireBytes(name: string, values: ArrayBufferView, bytes: number): void {
  requireView(name, values)
  if (values.byteLength === bytes) return
  refuse(`${name} has ${values.byteLength} bytes: the weight needs ${bytes}`)
}

/** What is known of a weight before anything is uploaded. */
export interface WeightPlan {
  weight: Required<Pick<StoredWeight, 'groupColumns' | 'groupRows'>> & StoredWeight
  bits: number
  groups: number
  scaleRows: number
  isTransposed: boolean
  isRepeated: boolean
}

/** Throws OCTAVO_INVALID_ARGUMENT, with both numbers, and OCTAVO_UNKNOWN_OPTION. */
export function planOf(stored: StoredWeight): WeightPlan {
  const given = new OptionReader<StoredWeight>(stored, storedNames, 'weight').all() as StoredWeight
  const weight = { groupRows: 1, groupColumns: given.columns, ...given }
  const { layout, codeType, rows, columns, groupColumns, groupRows, scaleType } = weight
  for (const [name, size] of Object.entries({ rows, columns, groupColumns, groupRows })) {
    requireSize(`weight.${name}`, size)
  }
  const bits = Object.hasOwn(codeBits, codeType)
    ? codeBits[codeType]
    : refuse(`weight.codeType is ${show(codeType)}`)
  const isTransposed = layout !== 'rows'
  const groups = ceilDivide(columns, groupColumns)
  const scaleRows = ceilDivide(rows, groupRows)
  if (!['gptq', 'gptq_v2', 'awq', 'rows'].includes(layout)) {
    refuse(`weight.layout is ${show(layout)}: expected gptq, gptq_v2, awq or rows`)
  }
  if (isTransposed && (codeType === 'i8' || codeType === 'e4m3' || groupRows !== 1)) {
    refuse(`weight.layout is ${layout}, which has unsigned codes and a scale for every row`)
  }
  if (layout === 'awq' && (codeType !== 'u4' || rows % 8 !== 0 || columns % 8 !== 0)) {
    refuse(
      `weight.layout is awq, which has u4 codes and whole words, got ${codeType} ${rows}×${columns}`,
    )
  }
  if (layout.startsWith('gptq') && ((columns * bits) % 32 !== 0 || (rows * bits) % 32 !== 0)) {
    refuse(`weight.layout is ${layout}, which has whole words, got ${codeType} ${rows}×${columns}`)
  }
  const wordBits = bits === 8 && !isTransposed && codeType !== 'u8' ? 8 : 32
  requireBytes(
    'weight.codes',
    weight.codes,
    (rows * ceilDivide(columns * bits, wordBits) * wordBits) / 8,
  )
  requireView('weight.scales', weight.scales)
  const isRepeated = !isTransposed && weight.scales.length === 1
  const scales = isRepeated ? 1 : scaleRows * groups
  requireBytes('weight.scales', weight.scales, scales * bytesOf(scaleType))
  if (isRepeated && groups !== 1) refuse(`weight.scales has one scale, for ${groups} groups`)
  if (weight.zeros) {
    if (32 % bits !== 0 && !isTransposed)
      refuse(`weight.zeros of ${bits} bits cannot be read down the rows`)
    const words = isTransposed
      ? groups * ((rows * bits) / 32)
      : ceilDivide(scaleRows * bits, 32) * groups
    requireBytes('weight.zeros', weight.zeros, words * 4)
  }
  return { weight, bits, groups, scaleRows, isTransposed, isRepeated }
}

/** A copy, whose every group exists; null where there is none. */
export function groupIndexOf({ weight, groups }: WeightPlan): Int32Array | null {
  if (weight.groupIndex === undefined) return null
  const index = Int32Array.from(int32s('weight.groupIndex', weight.groupIndex))
  requireBytes('weight.groupIndex', index, weight.columns * 4)
  const wrong = index.findIndex((group) => group < 0 || group >= groups)
  if (wrong < 0) return index
  return refuse(`weight.groupIndex[${wrong}] is ${index[wrong]}: expected 0 to ${groups - 1}`)
}
