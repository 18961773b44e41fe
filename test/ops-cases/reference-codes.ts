/** Codes of a KV cache from their definitions: e4m3 by its table, int8 by its rule. */

/** Sign, four bits of exponent (bias 7), three of mantissa; no infinity. */
export function e4m3Number(code: number): number {
  const [sign, exponent, mantissa] = [code & 0x80 ? -1 : 1, (code >> 3) & 15, code & 7]
  if (exponent === 15 && mantissa === 7) return NaN
  return exponent === 0
    ? sign * mantissa * 2 ** -9
    : sign * (1 + mantissa / 8) * 2 ** (exponent - 7)
}

/** Of codes 0 … 0x7e, which ascend. */
const sizes = Float64Array.from({ length: 0x7f }, (_, code) => e4m3Number(code))

/** The nearest code, the even one of two; past ±448 that of ±448. */
export function e4m3Code(value: number): number {
  const sign = Object.is(value, -0) || value < 0 ? 0x80 : 0
  if (Number.isNaN(value)) return 0x7f
  const size = Math.abs(value)
  if (size >= 448) return sign | 0x7e
  let [low, high] = [0, 0x7e] // sizes[low] ≤ size < sizes[high]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (sizes[middle]! <= size) low = middle
    else high = middle
  }
  const [below, above] = [size - sizes[low]!, sizes[high]! - size]
  return sign | (below < above || (below === above && low % 2 === 0) ? low : high)
}

/** To the nearest integer, the even one of two. */
function roundEven(value: number): number {
  const below = Math.floor(value)
  const part = value - below
  return part > 0.5 || (part === 0.5 && below % 2 !== 0) ? below + 1 : below
}

export interface Coded {
  /** A byte each; int8 as two's complement. */
  codes: Uint8Array
  /** fp32, of the row */
  scale: number
}

export function e4m3Row(row: ArrayLike<number>, scale: number): Coded {
  const single = Math.fround(scale)
  return {
    codes: Uint8Array.from(row, (value) => e4m3Code(Math.fround(value / single))),
    scale: single,
  }
}

/** NaN for a row that holds what is no finite number. */
export function int8Row(row: ArrayLike<number>): Coded {
  const sizes = Array.from(row, Math.abs)
  const isNan = sizes.some(Number.isNaN)
  const scale = isNan ? NaN : Math.fround(Math.max(...sizes) / 127)
  const codes = Int8Array.from(row, (value) => {
    const code = Math.fround(value / scale)
    return scale > 0 && !Number.isNaN(code) ? roundEven(Math.min(127, Math.max(-127, code))) : 0
  })
  return { codes: new Uint8Array(codes.buffer), scale }
}

/** What a row of codes is as numbers, rounded to fp32 as the ops read it. */
export function numbersOf({ codes, scale }: Coded, dtype: 'fp8_e4m3' | 'int8'): Float32Array {
  const plain = (code: number): number => (dtype === 'int8' ? (code << 24) >> 24 : e4m3Number(code))
  return Float32Array.from(codes, (code) => Math.fround(plain(code) * scale))
}
