/** A paged KV cache on a device: written through shuffled blocks, poisoned wherever nothing was written. */
import { kvWrite } from '../../lib/ops/index.js'
import type { DeviceBuffer, FloatDType } from '../../lib/ops/index.js'
import type { Random } from './random.js'
import type { Scope } from './scope.js'

export interface CacheShape {
  layers: number
  layer: number
  kvHeads: number
  blockSize: number
  dim: number
  dtype: FloatDType
}

/** The logical-to-physical map of a batch: entries past each context are stale numbers that must not be read. */
export interface Pages {
  blocks: number
  tableStride: number
  table: Int32Array
}

const stale = 0x7ffffff0

export function layPages(contexts: readonly number[], blockSize: number, random: Random): Pages {
  const counts = contexts.map((context) => Math.ceil(context / blockSize))
  const used = counts.reduce((sum, count) => sum + count, 0)
  const blocks = used + 3
  const order = random.shuffled(blocks)
  const tableStride = Math.max(...counts) + 2
  const table = new Int32Array(contexts.length * tableStride).fill(stale)
  let next = 0
  counts.forEach((count, s) => {
    for (let b = 0; b < count; b++) table[s * tableStride + b] = order[next++]!
  })
  return { blocks, tableStride, table }
}

/** The table, stale as well where a window hides a block from all query tokens of its sequence. */
export function seenTable(
  { table, tableStride }: Pages,
  sequences: readonly { queryLength: number; contextLength: number }[],
  blockSize: number,
  window: number,
): Int32Array {
  const seen = table.slice()
  if (window === 0) return seen
  sequences.forEach(({ queryLength, contextLength }, s) => {
    const hidden = Math.max(0, contextLength - queryLength - window + 1)
    seen.fill(stale, s * tableStride, s * tableStride + Math.floor(hidden / blockSize))
  })
  return seen
}

/** The slot of token `position` of sequence `s`. */
export function slotOf(pages: Pages, blockSize: number, s: number, position: number): number {
  const block = pages.table[s * pages.tableStride + Math.floor(position / blockSize)]!
  return block * blockSize + (position % blockSize)
}

/** Keys and values of every sequence, `[contextLength, kvHeads, dim]` each, in the cache through kvWrite. */
export function fillCache(
  scope: Scope,
  shape: CacheShape,
  pages: Pages,
  sequences: readonly { keys: Float32Array; values: Float32Array; contextLength: number }[],
): DeviceBuffer<FloatDType> {
  const { layers, kvHeads, blockSize, dim, dtype } = shape
  const size = [pages.blocks, layers, 2, kvHeads, blockSize, dim]
  const poison = new Float32Array(size.reduce((product, n) => product * n, 1)).fill(NaN)
  const cache = scope.buffer(dtype, size, poison)
  sequences.forEach(({ keys, values, contextLength: tokens }, s) => {
    const key = scope.heads(dtype, { tokens, heads: kvHeads, dim }, keys)
    const value = scope.heads(dtype, { tokens, heads: kvHeads, dim }, values)
    const slots = Array.from({ length: tokens }, (_, position) =>
      slotOf(pages, blockSize, s, position),
    )
    kvWrite(cache, shape.layer, key.view, value.view, slots)
  })
  return cache
}
