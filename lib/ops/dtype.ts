/** Element types of device buffers, and how JavaScript numbers become them. */

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

/** Bytes of one element. */
export function bytesOf(dtype: DType): number {
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
  const magnitude = Math.abs(word[0])
  if (Number.isNaN(magnitude)) return 0x7e00 | sign
  if (magnitude >= 65520) return 0x7c00 | sign
  if (magnitude < 2 ** -14) return roundEven(magnitude * 2 ** 24) | sign // a carry gives 2^-14: right
  const exponent = ((bits[0]! >>> 23) & 0xff) - 127
  return sign | (((exponent + 14) << 10) + roundEven(magnitude * 2 ** (10 - exponent)))
}

/** To the nearest integer, halves to the even one. */
function roundEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}

function fromBf16Bits(half: number): number {
  bits[0] = half << 16
  return word[0]!
}

function fromFp16Bits(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >>> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction ? NaN : sign * Infinity
  return sign * (1024 + fraction) * 2 ** (exponent - 25)
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
  return Uint16Array.from(values, toBf16Bits)
}

/** Numbers as IEEE fp16 bits, rounded to nearest even; 65520 and above become infinity. */
export function toFp16(values: ArrayLike<number>): Uint16Array {
  return Uint16Array.from(values, toFp16Bits)
}

/** The numbers that bf16 bits stand for, exactly. */
export function fromBf16(halves: ArrayLike<number>): Float32Array {
  return Float32Array.from(halves, fromBf16Bits)
}

/** The numbers that IEEE fp16 bits stand for, exactly. */
export function fromFp16(halves: ArrayLike<number>): Float32Array {
  return Float32Array.from(halves, fromFp16Bits)
}

/** Numbers in the array a buffer of that dtype is written from, rounded to it. */
export function encode<D extends FloatDType>(dtype: D, values: ArrayLike<number>): ArrayOf[D] {
  const encoded =
    dtype === 'bf16'
      ? toBf16(values)
      : dtype === 'fp16'
        ? toFp16(values)
        : Float32Array.from(values)
  return encoded as ArrayOf[D]
}

/** The numbers in an array read from a buffer of that dtype. */
export function decode(dtype: FloatDType, array: Float32Array | Uint16Array): Float32Array {
  if (dtype === 'bf16') return fromBf16(array)
  if (dtype === 'fp16') return fromFp16(array)
  return Float32Array.from(array)
}
