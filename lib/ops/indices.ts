/** Index arrays that callers hand to ops: typed arrays as they are, plain numbers checked. */
import { OctavoError } from '../errors.js'

/** 32-bit indices: an Int32Array or integers that fit one. */
export type Int32s = Int32Array | readonly number[]

/** 64-bit indices: a BigInt64Array or safe integers. */
export type Int64s = BigInt64Array | readonly number[]

function refuse(name: string, index: number, value: unknown, expected: string): never {
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name}[${index}] is ${String(value)}: expected ${expected}`,
  )
}

function requireArray(name: string, values: unknown): asserts values is readonly number[] {
  if (Array.isArray(values)) return
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name} is ${String(values)}: expected a typed array or an array of integers`,
  )
}

export function int32s(name: string, values: Int32s): Int32Array {
  if (values instanceof Int32Array) return values
  requireArray(name, values)
  const array = Int32Array.from(values)
  const wrong = array.findIndex((value, index) => value !== values[index])
  if (wrong >= 0) refuse(name, wrong, values[wrong], 'a 32-bit integer')
  return array
}

export function int64s(name: string, values: Int64s): BigInt64Array {
  if (values instanceof BigInt64Array) return values
  requireArray(name, values)
  const wrong = values.findIndex((value) => !Number.isSafeInteger(value))
  if (wrong >= 0) refuse(name, wrong, values[wrong], 'an integer')
  return BigInt64Array.from(values, BigInt)
}

export function float32s(name: string, values: Float32Array | readonly number[]): Float32Array {
  if (values instanceof Float32Array) return values
  requireArray(name, values)
  return Float32Array.from(values)
}
