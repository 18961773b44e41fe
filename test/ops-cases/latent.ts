/** Cases of multi-head latent attention, for any device. */
import { expandedAttention, latentAttention, latentRead, latentWrite } from '../../lib/ops/index.js'
import type { DeviceBuffer, FloatDType } from '../../lib/ops/index.js'
import { mixed } from './attention.js'
import { lazyCase, unit } from './compare.js'
import type { OpCase } from './compare.js'
import { layPages, slotOf } from './paged.js'
import type { Pages } from './paged.js'
import { round } from './random.js'
import type { Random } from './random.js'
import * as reference from './reference-latent.js'
import { floats } from './rows.js'
import { Scope } from './scope.js'

interface Sequence {
  queryLength: number
  contextLength: number
}

export interface LatentCase {
  heads: number
  rank: number
  ropeDim: number
  blockSize: number
  query: FloatDType
  cache: FloatDType
  out: FloatDType
  /** Elements between rows of queries and outputs. */
  gap: number
  sequences: readonly Sequence[]
}

const usual: LatentCase = {
  heads: 4,
  rank: 32,
  ropeDim: 8,
  blockSize: 64,
  query: 'fp32',
  cache: 'fp32',
  out: 'fp32',
  gap: 3,
  sequences: mixed,
}

const startsOf = (sequences: readonly Sequence[]): number[] =>
  sequences.reduce((starts, { queryLength }) => [...starts, starts.at(-1)! + queryLength], [0])

const listOf = (sequences: readonly Sequence[]): string =>
  sequences.map(({ queryLength, contextLength }) => `${queryLength}/${contextLength}`).join(' ')

/**
 * Tensor cores take weights of the cache's dtype: half a unit in the last place of Σ weight · |value|, which stays
 * below 2 for normal values.
 */
const toleranceOf = ({ cache, out, gap }: LatentCase): OpCase['tolerance'] => ({
  relative: unit[out] + 2 ** -20,
  absolute: gap % 8 === 0 ? Math.max(2 ** -15, unit[cache]) : 2 ** -19,
})

/** A layer of a cache of two, its rows written through shuffled blocks, poison wherever nothing was written. */
export function fillLatents(
  scope: Scope,
  pages: Pages,
  shape: { blockSize: number; width: number; dtype: FloatDType },
  sequences: readonly { rows: Float32Array; contextLength: number }[],
): DeviceBuffer<FloatDType> {
  const { blockSize, width, dtype } = shape
  const size = [pages.blocks, 2, blockSize, width]
  const poison = new Float32Array(size.reduce((product, n) => product * n, 1)).fill(NaN)
  const cache = scope.buffer(dtype, size, poison)
  sequences.forEach(({ rows, contextLength }, s) => {
    const placed = scope.matrix(dtype, contextLength, width, rows)
    const slots = Array.from({ length: contextLength }, (_, position) =>
      slotOf(pages, blockSize, s, position),
    )
    latentWrite(cache, 1, placed.view, slots)
  })
  return cache
}

export function latentCase(given: Partial<LatentCase>): OpCase {
  const one = { ...usual, ...given }
  const { heads, rank, ropeDim, blockSize, gap, sequences } = one
  const width = rank + ropeDim
  const name =
    `latentAttention ${heads} heads of ${rank} + ${ropeDim}, blocks of ${blockSize}, ` +
    `${one.query} over ${one.cache} → ${one.out}, gap ${gap}, sequences ${listOf(sequences)}`
  return lazyCase(name, (random) => {
    const tensors = sequences.map((sequence) => ({
      ...sequence,
      query: random.values(sequence.queryLength * heads * width, one.query),
      rows: random.values(sequence.contextLength * width, one.cache),
    }))
    const contexts = sequences.map(({ contextLength }) => contextLength)
    const pages = layPages(contexts, blockSize, random)
    const starts = startsOf(sequences)
    const tokens = starts.at(-1)!
    const scale = 1.5 / Math.sqrt(width)
    return {
      run(device) {
        using scope = new Scope(device)
        const cache = fillLatents(scope, pages, { blockSize, width, dtype: one.cache }, tensors)
        const queries = Float32Array.from(tensors.flatMap(({ query }) => [...query]))
        const query = scope.heads(one.query, { tokens, heads, dim: width }, queries, gap)
        const out = scope.heads(one.out, { tokens, heads, dim: rank }, null, gap)
        latentAttention(out.view, query.view, cache, {
          layer: 1,
          queryStart: starts,
          contextLength: contexts,
          blockTable: pages.table,
          scale,
        })
        return { out: out.read() }
      },
      reference: () => ({
        out: tensors.flatMap((sequence) => {
          const element = (token: number, _head: number, d: number): number =>
            sequence.rows[token * width + d]!
          return reference.latentAttention(
            { ...sequence, key: element, value: element },
            { heads, keyDim: width, valueDim: rank, scale },
          )
        }),
      }),
      tolerance: toleranceOf(one),
    }
  })
}

/** The same for expanded keys of keyDim + ropeDim and values of valueDim elements. */
export interface ExpandedCase extends Omit<LatentCase, 'rank' | 'blockSize'> {
  keyDim: number
  valueDim: number
}

export function expandedCase(given: Partial<ExpandedCase>): OpCase {
  const one = { ...usual, keyDim: 16, valueDim: 24, ...given }
  const { heads, keyDim, valueDim, ropeDim, gap, sequences } = one
  const name =
    `expandedAttention ${heads} heads of ${keyDim} + ${ropeDim} and ${valueDim}, ` +
    `${one.query} over ${one.cache} → ${one.out}, gap ${gap}, sequences ${listOf(sequences)}`
  return lazyCase(name, (random) => {
    const starts = startsOf(sequences)
    const tokens = starts.at(-1)!
    const { keyStart, keys } = layKeys(sequences, random)
    const dim = keyDim + valueDim
    const queries = random.values(tokens * heads * (keyDim + ropeDim), one.query)
    const keyValue = random.values(keys * heads * dim, one.cache)
    const ropeKey = random.values(keys * ropeDim, one.cache)
    const contexts = sequences.map(({ contextLength }) => contextLength)
    poisonUnused(keyValue, heads * dim, sequences, keyStart)
    poisonUnused(ropeKey, ropeDim, sequences, keyStart)
    const scale = 1 / Math.sqrt(keyDim + ropeDim)
    return {
      run(device) {
        using scope = new Scope(device)
        const query = scope.heads(one.query, { tokens, heads, dim: keyDim + ropeDim }, queries, gap)
        const both = scope.heads(one.cache, { tokens: keys, heads, dim }, keyValue, gap)
        const rope = scope.matrix(one.cache, keys, ropeDim, ropeKey, gap)
        const out = scope.heads(one.out, { tokens, heads, dim: valueDim }, null, gap)
        expandedAttention(out.view, query.view, both.view, rope.view, {
          queryStart: starts,
          contextLength: contexts,
          keyStart,
        })
        return { out: out.read() }
      },
      reference: () => ({
        out: sequences.flatMap((sequence, s) => {
          const at = (token: number, head: number): number =>
            ((keyStart[s]! + token) * heads + head) * dim
          return reference.latentAttention(
            {
              ...sequence,
              query: queries.subarray(starts[s]! * heads * (keyDim + ropeDim)),
              key: (token, head, d) =>
                d < keyDim
                  ? keyValue[at(token, head) + d]!
                  : ropeKey[(keyStart[s]! + token) * ropeDim + d - keyDim]!,
              value: (token, head, d) => keyValue[at(token, head) + keyDim + d]!,
            },
            { heads, keyDim: keyDim + ropeDim, valueDim, scale },
          )
        }),
      }),
      tolerance: toleranceOf(one),
    }
  })
}

/** Where each sequence's keys begin: in another order than the sequences', with unused rows between. */
function layKeys(
  sequences: readonly Sequence[],
  random: Random,
): { keyStart: number[]; keys: number } {
  const keyStart = new Array<number>(sequences.length).fill(0)
  let keys = 2
  for (const s of random.shuffled(sequences.length)) {
    keyStart[s] = keys
    keys += sequences[s]!.contextLength + random.integer(1, 5)
  }
  return { keyStart, keys }
}

/** NaN in the rows, `width` elements each, that belong to no sequence. */
function poisonUnused(
  values: Float32Array,
  width: number,
  sequences: readonly Sequence[],
  keyStart: readonly number[],
): void {
  const isUsed = (row: number): boolean =>
    sequences.some(
      ({ contextLength }, s) => row >= keyStart[s]! && row < keyStart[s]! + contextLength,
    )
  for (let row = 0; row * width < values.length; row++) {
    if (!isUsed(row)) values.fill(NaN, row * width, (row + 1) * width)
  }
}

export function latentCases(): OpCase[] {
  const list: Partial<LatentCase>[] = []
  for (const heads of [1, 3, 16, 20]) list.push({ heads, cache: 'bf16' })
  for (const blockSize of [16, 32, 64]) list.push({ blockSize, cache: 'fp16' })
  for (const [rank, ropeDim] of [
    [1, 0],
    [7, 3],
    [40, 24],
    [512, 64],
  ] as const) {
    list.push({ rank, ropeDim, heads: 2, cache: 'bf16' })
  }
  for (const query of floats) {
    for (const cache of floats) for (const out of floats) list.push({ query, cache, out })
  }
  list.push({ sequences: [{ queryLength: 1, contextLength: 700 }], heads: 16 })
  return list.map(latentCase)
}

export function expandedCases(): OpCase[] {
  const list: Partial<ExpandedCase>[] = []
  for (const heads of [1, 5]) list.push({ heads, cache: 'bf16' })
  for (const [keyDim, ropeDim, valueDim] of [
    [1, 1, 1],
    [0, 8, 8],
    [9, 4, 30],
    [128, 64, 128],
  ] as const) {
    list.push({ keyDim, ropeDim, valueDim, heads: 2, cache: 'fp16' })
  }
  for (const query of floats) {
    for (const cache of floats) for (const out of floats) list.push({ query, cache, out, heads: 2 })
  }
  list.push({ sequences: [{ queryLength: 130, contextLength: 300 }], heads: 1 })
  return list.map(expandedCase)
}

/** latentWrite, then latentRead of the same slots, of others that were never written, and of none. */
export function latentRowCases(): OpCase[] {
  const pairs = floats.flatMap((from) => floats.map((to) => [from, to] as const))
  return pairs.flatMap(([from, to]) =>
    [24, 9].map((width) =>
      lazyCase(`latentWrite and latentRead of ${width}, ${from} → ${to} → ${from}`, (random) => {
        const [blocks, layers, layer, blockSize] = [5, 3, 1, 16]
        const slots = [79, -1, 0, 17, 16, -5, 40, 3]
        const rows = random.values(slots.length * width, from)
        const elements = blocks * layers * blockSize * width
        const read = [17, -1, 78, 79, 0]
        const written = new Float32Array(elements)
        slots.forEach((slot, t) => {
          if (slot < 0) return
          const row = (Math.floor(slot / blockSize) * layers + layer) * blockSize
          const at = (row + (slot % blockSize)) * width
          written.set(round(to, rows.subarray(t * width, (t + 1) * width)), at)
        })
        const rowOf = (slot: number): Float32Array => {
          const row = (Math.floor(slot / blockSize) * layers + layer) * blockSize
          const at = (row + (slot % blockSize)) * width
          return slot < 0 ? new Float32Array(width) : written.subarray(at, at + width)
        }
        return {
          run(device) {
            using scope = new Scope(device)
            const shape = [blocks, layers, blockSize, width]
            const cache = scope.buffer(to, shape, new Float32Array(elements))
            latentWrite(cache, layer, scope.matrix(from, slots.length, width, rows).view, slots)
            const out = scope.matrix(from, read.length, width, null)
            latentRead(out.view, cache, layer, read)
            return { cache: cache.readNumbers(), out: out.read() }
          },
          reference: () => ({
            cache: written,
            out: read.flatMap((slot) => [...round(from, rowOf(slot))]),
          }),
          tolerance: { relative: 0, absolute: 0 },
        }
      }),
    ),
  )
}
