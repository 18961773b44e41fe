/** Cases of caches of codes: what kvWrite puts in, byte for byte, and attention over them. */
import { kvBlockBytes, kvWrite, pagedAttention } from '../../lib/ops/index.js'
import type { FloatDType } from '../../lib/ops/index.js'
import { mixed } from './attention.js'
import {
  codeRow,
  codedCache,
  codings,
  nameOf,
  placeRow,
  randomScales,
  readOptions,
  scaleOptions,
} from './coded-cache.js'
import type { Coding } from './coded-cache.js'
import { lazyCase, unit } from './compare.js'
import type { OpCase } from './compare.js'
import { layPages, slotOf } from './paged.js'
import { round } from './random.js'
import * as reference from './reference-attention.js'
import { numbersOf } from './reference-codes.js'
import { floats } from './rows.js'
import { Scope } from './scope.js'

const slots = [79, -1, 0, 17, 16, -5, 40, 3]

export function codedWriteCases(): OpCase[] {
  return codings.flatMap((coding) => floats.map((from) => writeCase(coding, from)))
}

/** Rows of several sizes: of zeros, with outliers, past 448 scales, with what is no number. */
function writeCase(coding: Coding, from: FloatDType): OpCase {
  return lazyCase(`kvWrite ${from} → ${nameOf(coding)}`, (random) => {
    const [layer, kvHeads, headDim] = [1, 3, 24]
    const shape = { ...coding, blocks: 5, layers: 3, kvHeads, blockSize: 16, headDim }
    const tokens = slots.length
    const fill = (): Float32Array => {
      const rows = random.values(tokens * kvHeads * headDim, from)
      rows.fill(0, headDim, 2 * headDim)
      rows.set(round(from, [300, -1000, 6e4, 1e-6, -0, 0.5 / 127]), 2 * headDim * kvHeads)
      rows[5 * headDim * kvHeads] = NaN
      rows[6 * headDim * kvHeads + 1] = NaN
      rows[7 * headDim * kvHeads + 2] = -Infinity
      return rows
    }
    const sides = [fill(), fill()] as const
    const scales = randomScales(coding, kvHeads, random)
    return {
      run(device) {
        using scope = new Scope(device)
        const cache = codedCache(scope, shape, 0)
        const [key, value] = sides.map((side) =>
          scope.heads(from, { tokens, heads: kvHeads, dim: headDim }, side),
        )
        const options = scaleOptions(scope, coding, scales)
        kvWrite(cache, layer, key!.view, value!.view, slots, options)
        return { cache: clean(cache.buffer.read(), coding) }
      },
      reference() {
        const bytes = new Uint8Array(shape.blocks * kvBlockBytes(shape))
        slots.forEach((slot, t) => {
          if (slot < 0) return
          for (const side of [0, 1] as const) {
            for (let head = 0; head < kvHeads; head++) {
              const start = (t * kvHeads + head) * headDim
              const row = sides[side].subarray(start, start + headDim)
              const coded = codeRow(coding, row, scales[side][head]!)
              placeRow(bytes, shape, { slot, layer, side, head }, coded)
            }
          }
        })
        return { cache: clean(bytes, coding) }
      },
      tolerance: { relative: 0, absolute: 0 },
    }
  })
}

/** A NaN may be any: the bits of e4m3 without its sign, and of an fp32 scale, are made one. */
function clean(bytes: Uint8Array, { dtype }: Coding): Uint8Array {
  const words = new DataView(bytes.buffer, bytes.byteOffset)
  for (let at = 0; at < bytes.length; at++) {
    if (dtype === 'fp8_e4m3' && bytes[at] === 0xff) bytes[at] = 0x7f
    if (dtype === 'int8' && at % 4 === 0 && Number.isNaN(words.getFloat32(at, true))) {
      const isScale = (words.getUint32(at, true) & 0x7fffffff) === 0x7fc00000
      if (isScale) words.setUint32(at, 0x7fc00000, true)
    }
  }
  return bytes
}

export interface CodedAttention extends Coding {
  dim: number
  heads: number
  kvHeads: number
  blockSize: number
  window: number
  softCap: number
  query: FloatDType
}

const usual = {
  dim: 64,
  heads: 4,
  kvHeads: 2,
  blockSize: 32,
  window: 0,
  softCap: 0,
  query: 'fp32',
} as const

/** Against fp64 over the numbers that the codes stand for: quantisation itself is not an error of the op. */
export function codedAttentionCase(given: Coding & Partial<CodedAttention>): OpCase {
  const shape = { ...usual, ...given }
  const { dim, heads, kvHeads, blockSize, window, softCap, query: dtype } = shape
  const name =
    `pagedAttention over ${nameOf(given)}, dim ${dim}, ${heads}/${kvHeads} heads, ` +
    `blocks of ${blockSize}, window ${window}, cap ${softCap}, ${dtype}`
  return lazyCase(name, (random) => {
    const contexts = mixed.map(({ contextLength }) => contextLength)
    const pages = layPages(contexts, blockSize, random)
    const scales = randomScales(given, kvHeads, random)
    const tensors = mixed.map(({ queryLength, contextLength }) => ({
      queryLength,
      contextLength,
      query: random.values(queryLength * heads * dim, dtype),
      keys: random.values(contextLength * kvHeads * dim, 'bf16'),
      values: random.values(contextLength * kvHeads * dim, 'bf16'),
    }))
    const starts = mixed.reduce((all, { queryLength }) => [...all, all.at(-1)! + queryLength], [0])
    const tokens = starts.at(-1)!
    const queries = Float32Array.from(tensors.flatMap(({ query }) => [...query]))
    const coded = (rows: Float32Array, side: 0 | 1): Float32Array =>
      Float32Array.from({ length: rows.length / dim }, (_, row) => row).reduce((all, row) => {
        const from = rows.subarray(row * dim, (row + 1) * dim)
        const code = codeRow(given, from, scales[side][row % kvHeads]!)
        all.set(numbersOf(code, given.dtype), row * dim)
        return all
      }, new Float32Array(rows.length))
    return {
      run(device) {
        using scope = new Scope(device)
        const layout = {
          dtype: given.dtype,
          scaling: given.scaling,
          blocks: pages.blocks,
          layers: 2,
          kvHeads,
          blockSize,
          headDim: dim,
        }
        const cache = codedCache(scope, layout)
        const options = scaleOptions(scope, given, scales)
        tensors.forEach(({ keys, values, contextLength: count }, s) => {
          const place = { tokens: count, heads: kvHeads, dim }
          const key = scope.heads('bf16', place, keys)
          const value = scope.heads('bf16', place, values)
          const to = Array.from({ length: count }, (_, at) => slotOf(pages, blockSize, s, at))
          kvWrite(cache, 1, key.view, value.view, to, options)
        })
        const query = scope.heads(dtype, { tokens, heads, dim }, queries)
        const out = scope.heads(dtype, { tokens, heads, dim }, null)
        pagedAttention(out.view, query.view, cache, {
          layer: 1,
          queryStart: starts,
          contextLength: contexts,
          blockTable: pages.table,
          window,
          softCap,
          ...readOptions(given, scales),
        })
        return { out: out.read() }
      },
      reference() {
        const scale = 1 / Math.sqrt(dim)
        const parts = tensors.map(({ keys, values, ...rest }) =>
          reference.attention(
            { ...rest, keys: coded(keys, 0), values: coded(values, 1) },
            { heads, kvHeads, dim, scale, window, softCap },
          ),
        )
        return { out: parts.flatMap((part) => [...part]) }
      },
      tolerance: { relative: unit[dtype] + 2 ** -20, absolute: 2 ** -19 },
    }
  })
}

export function codedAttentionCases(): OpCase[] {
  const list = codings.flatMap((coding) => [
    ...[8, 24, 64, 80].map((dim) => ({ ...coding, dim })),
    ...[128, 256].map((dim) => ({ ...coding, dim, heads: 2, kvHeads: 1 })),
    ...[16, 32, 64].map((blockSize) => ({ ...coding, blockSize, window: 33 })),
    ...floats.map((query) => ({ ...coding, query, softCap: 3 })),
    { ...coding, heads: 16, kvHeads: 2, dim: 128 },
    { ...coding, heads: 4, kvHeads: 1, dim: 5 },
  ])
  return list.map(codedAttentionCase)
}
