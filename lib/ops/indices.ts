/** Index arrays that callers hand to ops: typed arrays as they are, plain numbers checked. */
import { OctavoError } from '../errors.js'
import { show } from '../options/reader.js'

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
  if (Array.isArray(values)) return
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name} is ${show(values)}: expected a typed array or an array of integers`,
  )
}

export function int32s(name: string, values: Int32s): Int32Array {
  if (values instanceof Int32Array) return values
  requireArray(name, values)
  const wrong = Array.from(values).findIndex(
    (value) => !Number.isInteger(value) || value !== (value | 0),
  )
  if (wrong >= 0) refuse(name, wrong, values[wrong], 'a 32-bit integer')
  return Int32Array.from(values)
}

export function int64s(name: string, values: Int64s): BigInt64Array {
  if (values instanceof BigInt64Array) return values
  requireArray(name, values)
  const wrong = Array.from(values).findIndex((value) => !Number.isSafeInteger(value))
  if (wrong >= 0) refuse(name, wrong, values[wrong], 'an integer')
  return BigInt64Array.from(values, BigInt)
}

export function uint8s(name: string, values: readonly number[]): Uint8Array {
  const wrong = Array.from(values).findIndex(
    (value) => !Number.isInteger(value) || value < 0 || value > 255,
  )
  if (wrong >= 0) refuse(name, wrong, values[wrong], 'an integer from 0 to 255')
  return Uint8Array.from(values)
}

export function float32s(name: string, values: Float32Array | readonly number[]): Float32Array {
  if (values instanceof Float32Array) return values
  requireArray(name, values)
  const wrong = Array.from(values).findIndex((value) => typeof value !== 'number')
  if (wrong >= 0) refuse(name, wrong, values[wrong], 'a number')
  return Float32Array.from(values)
}

export function requireFinite(name: string, values: Float32Array): void {
  const wrong = values.findIndex((value) => !Number.isFinite(value))
  if (wrong >= 0) refuse(name, wrong, values[wrong], 'a finite number')
}
