/** Weights of random codes in every stored layout, and what they stand for, by independent code. */
import { fromBf16, fromFp16 } from '../../lib/ops/index.js'
import type { CodeType, FloatDType, StoredWeight } from '../../lib/ops/index.js'
import { encode } from '../../lib/ops/dtype.js'
import type { Random } from './random.js'

export const codeTypes: readonly CodeType[] = ['u2', 'u3', 'u4', 'u8', 'i8', 'e4m3']
const bitsOf: Record<CodeType, number> = { u2: 2, u3: 3, u4: 4, u8: 8, i8: 8, e4m3: 8 }
const awqOrder = [0, 2, 4, 6, 1, 3, 5, 7]

export interface WeightCase {
  layout: StoredWeight['layout']
  codeType: CodeType
  shape: readonly [rows: number, columns: number]
  groupColumns?: number
  groupRows?: number
  scaleType: FloatDType
  zeros?: boolean
  actOrder?: boolean
  activations?: StoredWeight['activations']
}

/** e4m3fn, from its definition. */
export function e4m3(code: number): number {
  const [sign, exponent, mantissa] = [code & 128 ? -1 : 1, (code >> 3) & 15, code & 7]
  if ((code & 127) === 127) return NaN
  return sign * (exponent === 0 ? mantissa * 2 ** -9 : (1 + mantissa / 8) * 2 ** (exponent - 7))
}

/** Values of `bits` each as a little-endian stream in 32-bit words. */
export function packStream(values: readonly number[], bits: number): Uint32Array {
  const words = new Uint32Array(Math.ceil((values.length * bits) / 32))
  values.forEach((value, index) => {
    for (let j = 0; j < bits; j++) {
      const bit = index * bits + j
      if ((value >> j) & 1) words[bit >> 5]! |= (1 << (bit & 31)) >>> 0
    }
  })
  return words
}

interface Codes {
  rows: number
  columns: number
  at: (row: number, column: number) => number
}

function transposedWords({ rows, columns, at }: Codes, bits: number): Uint32Array {
  const streams = Array.from({ length: rows }, (_, n) =>
    packStream(
      Array.from({ length: columns }, (_, k) => at(n, k)),
      bits,
    ),
  )
  const length = streams[0]!.length
  return Uint32Array.from({ length: length * rows }, (_, i) => streams[i % rows]![(i / rows) | 0]!)
}

/** Every row of `height` by `width` codes as a stream of its own. */
function rowWords(height: number, width: number, at: Codes['at'], bits: number): Uint32Array {
  const all: number[] = []
  for (let r = 0; r < height; r++) {
    const row = Array.from({ length: width }, (_, c) => at(r, c))
    all.push(...packStream(row, bits))
  }
  return Uint32Array.from(all)
}

/** Rows of codes whose columns are AWQ's: nibble n of a word is column 8c + order[n]. */
function awqWords(height: number, width: number, at: Codes['at']): Uint32Array {
  return rowWords(height, width, (r, c) => at(r, (c & ~7) + awqOrder[c & 7]!), 4)
}

function codesOf(layout: string, codes: Codes, codeType: CodeType): ArrayBufferView {
  const { rows, columns, at } = codes
  if (layout === 'awq') return awqWords(columns, rows, (k, n) => at(n, k))
  if (layout !== 'rows') return transposedWords(codes, bitsOf[codeType])
  if (codeType !== 'i8' && codeType !== 'e4m3') {
    return rowWords(rows, columns, at, bitsOf[codeType])
  }
  return Uint8Array.from({ length: rows * columns }, (_, i) => at((i / columns) | 0, i % columns))
}

function zerosOf(
  layout: string,
  zero: (row: number, group: number) => number,
  scaleRows: number,
  groups: number,
  bits: number,
): Uint32Array {
  if (layout === 'awq') return awqWords(groups, scaleRows, (g, n) => zero(n, g))
  if (layout !== 'rows') {
    const stored = (g: number, n: number): number =>
      layout === 'gptq' ? (zero(n, g) - 1) & (2 ** bits - 1) : zero(n, g)
    return rowWords(groups, scaleRows, stored, bits)
  }
  const columns = Array.from({ length: groups }, (_, g) =>
    packStream(
      Array.from({ length: scaleRows }, (_, n) => zero(n, g)),
      bits,
    ),
  )
  const height = columns[0]!.length
  return Uint32Array.from(
    { length: height * groups },
    (_, i) => columns[i % groups]![(i / groups) | 0]!,
  )
}

export interface MadeWeight {
  stored: StoredWeight
  /** [rows, columns]: (code − zero) · scale, rounded to fp32 once. */
  numbers: Float32Array
}

/** Every code of the type occurs where there are enough of them. */
export function makeWeight(one: WeightCase, random: Random): MadeWeight {
  const { layout, codeType, scaleType } = one
  const [rows, columns] = one.shape
  const bits = bitsOf[codeType]
  const groupColumns = one.groupColumns ?? columns
  const groupRows = one.groupRows ?? 1
  const groups = Math.ceil(columns / groupColumns)
  const scaleRows = Math.ceil(rows / groupRows)
  const raw = Uint8Array.from({ length: rows * columns }, (_, i) => {
    const code = i < 2 ** bits ? i : random.integer(0, 2 ** bits)
    return codeType === 'e4m3' && (code & 127) === 127 ? code & 128 : code
  })
  const at = (n: number, k: number): number => raw[n * columns + k]!
  const scaleBits = encode(
    scaleType,
    Float32Array.from({ length: scaleRows * groups }, () => 0.001 + random.uniform() / 50),
  )
  const scales =
    scaleType === 'fp32'
      ? (scaleBits as Float32Array)
      : (scaleType === 'bf16' ? fromBf16 : fromFp16)(scaleBits)
  const middle = codeType === 'i8' || codeType === 'e4m3' ? 0 : 2 ** (bits - 1)
  const zeroCodes = Uint8Array.from({ length: scaleRows * groups }, () =>
    one.zeros ? random.integer(0, 2 ** bits) : middle,
  )
  const order = random.shuffled(columns)
  const groupIndex = Int32Array.from({ length: columns }, (_, k) =>
    Math.floor((one.actOrder ? order[k]! : k) / groupColumns),
  )
  const value = (code: number): number =>
    codeType === 'e4m3' ? e4m3(code) : codeType === 'i8' ? (code << 24) >> 24 : code
  const numbers = Float32Array.from({ length: rows * columns }, (_, i) => {
    const [n, k] = [Math.floor(i / columns), i % columns]
    const scale = Math.floor(n / groupRows) * groups + groupIndex[k]!
    return Math.fround((value(at(n, k)) - zeroCodes[scale]!) * scales[scale]!)
  })
  const isTransposed = layout !== 'rows'
  const storedScales = isTransposed
    ? scaleBits.map((_, i) => scaleBits[(i % rows) * groups + Math.floor(i / rows)]!)
    : scaleBits
  const stored: StoredWeight = {
    ...{ layout, codeType, rows, columns, scaleType, groupColumns, groupRows },
    codes: codesOf(layout, { rows, columns, at }, codeType),
    scales: storedScales,
    ...(one.zeros && {
      zeros: zerosOf(layout, (n, g) => zeroCodes[n * groups + g]!, scaleRows, groups, bits),
    }),
    ...(one.actOrder && { groupIndex }),
    ...(one.activations && { activations: one.activations }),
  }
  return { stored, numbers }
}

export const weightName = (one: WeightCase): string =>
  [
    `${one.layout} ${one.codeType} ${one.shape.join('×')}`,
    `groups ${one.groupRows ?? 1}×${one.groupColumns ?? 'all'} of ${one.scaleType}`,
    ...(one.zeros ? ['zeros'] : []),
    ...(one.actOrder ? ['act-order'] : []),
    ...(one.activations ? [`x ${one.activations.scaling}`] : []),
  ].join(', ')

/** Every layout, type of codes, group and option that a checkpoint may have, on shapes even and odd. */
export const weightCases: readonly WeightCase[] = [
  ...(['u2', 'u3', 'u4', 'u8'] as const).flatMap((codeType): WeightCase[] => [
    {
      layout: 'gptq',
      codeType,
      shape: [64, 256],
      groupColumns: 64,
      scaleType: 'fp16',
      zeros: true,
    },
    {
      layout: 'gptq_v2',
      codeType,
      shape: [32, 96],
      groupColumns: 32,
      scaleType: 'bf16',
      zeros: true,
    },
    { layout: 'gptq', codeType, shape: [96, 160], scaleType: 'fp16', zeros: true },
    {
      ...{ layout: 'gptq', codeType, shape: [32, 192], groupColumns: 32, scaleType: 'fp16' },
      ...{ zeros: true, actOrder: true },
    },
  ]),
  {
    layout: 'awq',
    codeType: 'u4',
    shape: [72, 192],
    groupColumns: 64,
    scaleType: 'fp16',
    zeros: true,
  },
  {
    layout: 'awq',
    codeType: 'u4',
    shape: [8, 136],
    groupColumns: 128,
    scaleType: 'bf16',
    zeros: true,
  },
  { layout: 'rows', codeType: 'u4', shape: [19, 77], groupColumns: 32, scaleType: 'bf16' },
  {
    layout: 'rows',
    codeType: 'u4',
    shape: [19, 77],
    groupColumns: 32,
    scaleType: 'fp16',
    zeros: true,
  },
  { layout: 'rows', codeType: 'u4', shape: [5, 1111], groupColumns: 128, scaleType: 'fp32' },
  {
    layout: 'rows',
    codeType: 'u4',
    shape: [9, 96],
    groupColumns: 32,
    scaleType: 'bf16',
    actOrder: true,
  },
  { layout: 'rows', codeType: 'u8', shape: [17, 130], scaleType: 'bf16' },
  { layout: 'rows', codeType: 'i8', shape: [65, 129], scaleType: 'bf16' },
  { layout: 'rows', codeType: 'e4m3', shape: [65, 129], scaleType: 'fp32' },
  {
    layout: 'rows',
    codeType: 'e4m3',
    shape: [200, 300],
    groupRows: 128,
    groupColumns: 128,
    scaleType: 'fp32',
  },
  { layout: 'rows', codeType: 'e4m3', shape: [130, 64], groupRows: 130, scaleType: 'bf16' },
]
