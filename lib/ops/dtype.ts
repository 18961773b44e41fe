/** Element types of device buffers, and how JavaScript numbers become them. */
import { OctavoError } from '../errors.js'
import { invalid, isArray, reading, show } from '../options/reader.js'

/** Element type of a buffer. `bf16` and `fp16` are read and written as their bits, in a Uint16Array. */
export type DType = 'fp32' | 'bf16' | 'fp16' | 'i32' | 'i64' | 'u8'

/** The dtypes that ops compute with. */
export type FloatDType = 'fp32' | 'bf16' | 'fp16'

/** What a buffer of a dtype is read into and written from. */
export interface ArrayOf {
  fp32: Float32Array
  bf16: Uint16Array
  fp16: Uint16Array
  i32: Int32Array
  i64: BigInt64Array
  u8: Uint8Array
}

interface ArrayConstructor<A> {
  new (length: number): A
  readonly BYTES_PER_ELEMENT: number
}

/** The typed array class of each dtype. */
export const arrayTypes: { readonly [D in DType]: ArrayConstructor<ArrayOf[D]> } = {
  fp32: Float32Array,
  bf16: Uint16Array,
  fp16: Uint16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  u8: Uint8Array,
}

/** Every dtype. */
export const dtypes = Object.keys(arrayTypes) as DType[]

/** Throws OCTAVO_INVALID_ARGUMENT for what is no dtype. */
export function requireDType(dtype: unknown): asserts dtype is DType {
  if (dtypes.includes(dtype as DType)) return
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `the dtype is ${show(dtype)}: expected one of ${dtypes.join(', ')}`,
  )
}

/** The dtypes that numbers are rounded to. */
export const floatDTypes: readonly FloatDType[] = ['fp32', 'bf16', 'fp16']

function requireFloatDType(dtype: unknown): asserts dtype is FloatDType {
  if (floatDTypes.includes(dtype as FloatDType)) return
  throw invalid('dtype', dtype, `one of ${floatDTypes.join(', ')}`)
}

const isNumbers = (values: ArrayBufferView): boolean =>
  !(values instanceof DataView || values instanceof BigInt64Array) &&
  !(values instanceof BigUint64Array)

/** A typed array as it is, an array as a copy whose every value is a number: what is checked is what is used. */
function numbersOf(values: unknown): ArrayLike<number> {
  if (ArrayBuffer.isView(values) && isNumbers(values)) return values as Float32Array
  if (!isArray(values)) throw invalid('values', values, 'an array or a typed array of numbers')
  const list = reading('values', () => Array.from(values))
  const wrong = list.findIndex((value) => typeof value !== 'number')
  if (wrong >= 0) throw invalid(`values[${wrong}]`, list[wrong], 'a number')
  return list as number[]
}

/** Bytes of one element. */
export function bytesOf(dtype: DType): number {
  requireDType(dtype)
  return arrayTypes[dtype].BYTES_PER_ELEMENT
}

const word = new Float32Array(1)
const bits = new Uint32Array(word.buffer)

function toBf16Bits(value: number): number {
  word[0] = value
  const float = bits[0]!
  if ((float & 0x7fffffff) > 0x7f800000) return (float >>> 16) | 0x40
  return ((float + 0x7fff + ((float >>> 16) & 1)) >>> 16) & 0xffff
}

/** Rounds the double to fp32 first, as every other path to the device does. */
function toFp16Bits(value: number): number {
  word[0] = value
  const sign = (bits[0]! >>> 16) & 0x8000
  const magnitude = bits[0]! & 0x7fffffff
  if (magnitude > 0x7f800000) return 0x7e00 | sign
  if (magnitude >= 0x477ff000) return 0x7c00 | sign // 65520 and above
  if (magnitude >= 0x38800000) {
    return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13)
  }
  word[0] = Math.abs(word[0]) + 0.5 // rounds to a multiple of 2^-24, the step of subnormals
  return sign | (bits[0]! - 0x3f000000)
}

function fromFp16Bits(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >>> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction ? NaN : sign * Infinity
  return sign * (1024 + fraction) * 2 ** (exponent - 25)
}

let fp16Numbers: Float32Array | undefined

/** All 65,536 of them, made on first use. */
function everyFp16(): Float32Array {
  fp16Numbers ??= Float32Array.from({ length: 65536 }, (_, half) => fromFp16Bits(half))
  return fp16Numbers
}

/**
 * Numbers as bf16 bits, rounded to nearest even.
 *
 * @example
 * ```ts
 * import { fromBf16, toBf16 } from 'octavo/ops'
 * console.log(fromBf16(toBf16([1, 0.1]))) // Float32Array [ 1, 0.10009765625 ]
 * ```
 */
export function toBf16(values: ArrayLike<number>): Uint16Array {
  const numbers = numbersOf(values)
  const halves = new Uint16Array(numbers.length)
  for (let i = 0; i < halves.length; i++) halves[i] = toBf16Bits(numbers[i]!)
  return halves
}

/** Numbers as IEEE fp16 bits, rounded to nearest even; 65520 and above become infinity. */
export function toFp16(values: ArrayLike<number>): Uint16Array {
  const numbers = numbersOf(values)
  const halves = new Uint16Array(numbers.length)
  for (let i = 0; i < halves.length; i++) halves[i] = toFp16Bits(numbers[i]!)
  return halves
}

/** The numbers that bf16 bits stand for, exactly. */
export function fromBf16(halves: ArrayLike<number>): Float32Array {
  const bits = numbersOf(halves)
  const floats = new Uint32Array(bits.length)
  for (let i = 0; i < floats.length; i++) floats[i] = bits[i]! << 16
  return new Float32Array(floats.buffer)
}

/** The numbers that IEEE fp16 bits stand for, exactly. */
export function fromFp16(halves: ArrayLike<number>): Float32Array {
  const bits = numbersOf(halves)
  const numbers = everyFp16()
  const floats = new Float32Array(bits.length)
  for (let i = 0; i < floats.length; i++) floats[i] = numbers[bits[i]!]!
  return floats
}

/** Numbers in the array a buffer of that dtype is written from, rounded to it. */
export function encode<D extends FloatDType>(dtype: D, values: ArrayLike<number>): ArrayOf[D] {
  requireFloatDType(dtype)
  const encoded =
    dtype === 'bf16'
      ? toBf16(values)
      : dtype === 'fp16'
        ? toFp16(values)
        : Float32Array.from(numbersOf(values))
  return encoded as ArrayOf[D]
}

/** The numbers in an array read from a buffer of that dtype. */
export function decode(dtype: FloatDType, array: Float32Array | Uint16Array): Float32Array {
  requireFloatDType(dtype)
  if (dtype === 'bf16') return fromBf16(array)
  if (dtype === 'fp16') return fromFp16(array)
  return Float32Array.from(numbersOf(array))
}
