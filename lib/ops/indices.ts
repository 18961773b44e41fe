/** Index arrays that callers hand to ops: typed arrays as they are, plain numbers checked. */
import { OctavoError } from '../errors.js'
import { isArray, reading, show } from '../options/reader.js'

/** 32-bit indices: an Int32Array or integers that fit one. */
export type Int32s = Int32Array | readonly number[]

/** 64-bit indices: a BigInt64Array or safe integers. */
export type Int64s = BigInt64Array | readonly number[]

function refuse(name: string, index: number, value: unknown, expected: string): never {
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name}[${index}] is ${show(value)}: expected ${expected}`,
  )
}

function requireArray(name: string, values: unknown): asserts values is readonly number[] {
  if (isArray(values)) return
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name} is ${show(values)}: expected a typed array or an array of integers`,
  )
}

/** Whether it is one: a proxy may throw when it is asked. */
function isOf<T>(name: string, values: unknown, type: new (length: number) => T): values is T {
  return reading(name, () => values instanceof type)
}

/** A copy, so that what is checked is what is used. */
const copyOf = (name: string, values: readonly number[]): number[] =>
  reading(name, () => Array.from(values))

export function int32s(name: string, values: Int32s): Int32Array {
  if (isOf(name, values, Int32Array)) return values
  requireArray(name, values)
  const list = copyOf(name, values)
  const wrong = list.findIndex((value) => !Number.isInteger(value) || value !== (value | 0))
  if (wrong >= 0) refuse(name, wrong, list[wrong], 'a 32-bit integer')
  return Int32Array.from(list)
}

export function int64s(name: string, values: Int64s): BigInt64Array {
  if (isOf(name, values, BigInt64Array)) return values
  requireArray(name, values)
  const list = copyOf(name, values)
  const wrong = list.findIndex((value) => !Number.isSafeInteger(value))
  if (wrong >= 0) refuse(name, wrong, list[wrong], 'an integer')
  return BigInt64Array.from(list, BigInt)
}

export function uint8s(name: string, values: readonly number[]): Uint8Array {
  const list = copyOf(name, values)
  const wrong = list.findIndex((value) => !Number.isInteger(value) || value < 0 || value > 255)
  if (wrong >= 0) refuse(name, wrong, list[wrong], 'an integer from 0 to 255')
  return Uint8Array.from(list)
}

export function float32s(name: string, values: Float32Array | readonly number[]): Float32Array {
  if (isOf(name, values, Float32Array)) return values
  requireArray(name, values)
  const list = copyOf(name, values)
  const wrong = list.findIndex((value) => typeof value !== 'number')
  if (wrong >= 0) refuse(name, wrong, list[wrong], 'a number')
  return Float32Array.from(list)
}

export function requireFinite(name: string, values: Float32Array): void {
  const wrong = values.findIndex((value) => !Number.isFinite(value))
  if (wrong >= 0) refuse(name, wrong, values[wrong], 'a finite number')
}
