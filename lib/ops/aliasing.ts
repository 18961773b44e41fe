/** Arguments that share memory: kernels take rows in any order, so only what cpp/ops/ops.h allows may. */
import { OctavoError } from '../errors.js'
import { reading } from '../options/reader.js'
import { isBuffer } from './shape.js'
import type { HeadsArgument, MatrixArgument } from './shape.js'

/** Rows of elements in one buffer: row r is `begin + r * stride`, `width` elements long. */
interface Region {
  buffer: number
  begin: number
  rows: number
  width: number
  stride: number
}

/** null for a view that does not lie in its buffer: the addon refuses it, with the numbers. */
function regionOf(argument: MatrixArgument | HeadsArgument): Region | null {
  if (isBuffer(argument)) {
    const { handle: buffer, length: width } = argument
    return { buffer, begin: 0, rows: 1, width, stride: width }
  }
  const { offset: begin = 0 } = argument
  const isMatrix = 'columns' in argument
  const rows = isMatrix ? argument.rows : argument.tokens
  const width = isMatrix ? argument.columns : argument.heads * argument.dim
  const stride = (isMatrix ? argument.stride : argument.tokenStride) ?? width
  const { handle: buffer, length } = argument.buffer
  const isWhole = [begin, rows, width, stride].every(Number.isSafeInteger)
  const isInside = begin >= 0 && rows > 0 && begin + (rows - 1) * stride + width <= length
  return isWhole && isInside && stride >= width ? { buffer, begin, rows, width, stride } : null
}

/** Walks both in ascending order: columns of one buffer side by side do not overlap. */
function overlap(a: Region, b: Region): boolean {
  if (a.buffer !== b.buffer) return false
  for (let i = 0, j = 0; i < a.rows && j < b.rows;) {
    const [left, right] = [a.begin + i * a.stride, b.begin + j * b.stride]
    if (left + a.width <= right) i++
    else if (right + b.width <= left) j++
    else return true
  }
  return false
}

const same = (a: Region, b: Region): boolean =>
  a.begin === b.begin && a.rows === b.rows && a.width === b.width && a.stride === b.stride

type Arguments = Readonly<Record<string, MatrixArgument | HeadsArgument | undefined>>

/**
 * Throws OCTAVO_INVALID_ARGUMENT, naming both, when the first argument shares memory with another. One named
 * in `mayBe` may be the very same elements, but not a part of them.
 */
export function requireApart(args: Arguments, mayBe?: string): void {
  const [[outName, out] = ['', undefined], ...inputs] = Object.entries(args)
  const written = out && reading(outName, () => regionOf(out))
  if (!written) return
  for (const [name, input] of inputs) {
    const read = input && reading(name, () => regionOf(input))
    if (!read || !overlap(written, read)) continue
    if (name === mayBe && same(written, read)) continue
    const but = name === mayBe ? ` without being the same elements` : ''
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `${outName} and ${name} share memory${but}: give ${outName} a buffer of its own`,
    )
  }
}

/** Throws OCTAVO_INVALID_ARGUMENT when two tokens go to one slot; negative ones go nowhere. */
export function requireDistinct(slots: BigInt64Array): void {
  const seen = new Map<bigint, number>()
  slots.forEach((slot, at) => {
    if (slot < 0n) return
    const first = seen.get(slot)
    if (first !== undefined) {
      throw new OctavoError(
        'OCTAVO_INVALID_ARGUMENT',
        `slots[${first}] and slots[${at}] are both ${slot}: every token needs a slot of its own`,
      )
    }
    seen.set(slot, at)
  })
}
