/** Cases of kvWrite and pagedAttention, for any device. */
import { kvWrite, pagedAttention } from '../../lib/ops/index.js'
import type { FloatDType } from '../../lib/ops/index.js'
import { lazyCase, unit } from './compare.js'
import type { OpCase } from './compare.js'
import { fillCache, layPages, seenTable } from './paged.js'
import { round } from './random.js'
import * as reference from './reference-attention.js'
import { floats } from './rows.js'
import { Scope } from './scope.js'

interface Sequence {
  queryLength: number
  contextLength: number
}

export interface AttentionCase {
  dim: number
  heads: number
  kvHeads: number
  blockSize: number
  window: number
  query: FloatDType
  cache: FloatDType
  out: FloatDType
  sequences: readonly Sequence[]
}

/** Prefills from nothing, chunks in the middle, decodes, and a sequence that computes nothing. */
export const mixed: readonly Sequence[] = [
  { queryLength: 17, contextLength: 17 },
  { queryLength: 1, contextLength: 129 },
  { queryLength: 0, contextLength: 40 },
  { queryLength: 63, contextLength: 65 },
  { queryLength: 1, contextLength: 1 },
  { queryLength: 3, contextLength: 64 },
]

const usual: AttentionCase = {
  dim: 64,
  heads: 9,
  kvHeads: 3,
  blockSize: 32,
  window: 0,
  query: 'fp32',
  cache: 'fp32',
  out: 'fp32',
  sequences: mixed,
}

export function attentionCase(given: Partial<AttentionCase>): OpCase {
  const shape = { ...usual, ...given }
  const { dim, heads, kvHeads, blockSize, window, sequences } = shape
  const lengths = sequences.map(
    ({ queryLength, contextLength }) => `${queryLength}/${contextLength}`,
  )
  const name =
    `pagedAttention dim ${dim}, ${heads}/${kvHeads} heads, blocks of ${blockSize}, window ${window}, ` +
    `${shape.query} over ${shape.cache} → ${shape.out}, sequences ${lengths.join(' ')}`
  return lazyCase(name, (random) => {
    const tensors = sequences.map(({ queryLength, contextLength }) => ({
      queryLength,
      contextLength,
      query: random.values(queryLength * heads * dim, shape.query),
      keys: random.values(contextLength * kvHeads * dim, shape.cache),
      values: random.values(contextLength * kvHeads * dim, shape.cache),
    }))
    const starts = [0]
    for (const { queryLength } of sequences) starts.push(starts.at(-1)! + queryLength)
    const contexts = sequences.map(({ contextLength }) => contextLength)
    const pages = layPages(contexts, blockSize, random)
    const tokens = starts.at(-1)!
    const queries = Float32Array.from(tensors.flatMap(({ query }) => [...query]))
    const scale = 1 / Math.sqrt(dim)
    return {
      run(device) {
        using scope = new Scope(device)
        const cacheShape = { layers: 2, layer: 1, kvHeads, blockSize, dim, dtype: shape.cache }
        const cache = fillCache(scope, cacheShape, pages, tensors)
        const query = scope.heads(shape.query, { tokens, heads, dim }, queries)
        const out = scope.heads(shape.out, { tokens, heads, dim }, null)
        pagedAttention(out.view, query.view, cache, {
          layer: 1,
          queryStart: starts,
          contextLength: contexts,
          blockTable: seenTable(pages, sequences, blockSize, window),
          window,
        })
        return { out: out.read() }
      },
      reference() {
        const parts = tensors.map((one) =>
          reference.attention(one, { heads, kvHeads, dim, scale, window }),
        )
        return { out: parts.flatMap((part) => [...part]) }
      },
      tolerance: { relative: unit[shape.out] + 2 ** -20, absolute: 2 ** -19 },
    }
  })
}

export function attentionCases(): OpCase[] {
  const list: Partial<AttentionCase>[] = []
  for (const dim of [8, 24, 64, 80, 128, 256]) list.push({ dim, cache: 'bf16' })
  for (const dim of [1, 5, 33, 160]) list.push({ dim, cache: 'fp16', blockSize: 16 })
  for (const group of [1, 2, 3, 7, 8]) list.push({ heads: 2 * group, kvHeads: 2 })
  for (const blockSize of [16, 32, 64]) {
    for (const window of [0, 1, 16, 33, 100]) list.push({ blockSize, window, cache: 'bf16' })
  }
  for (const query of floats) {
    for (const cache of floats) {
      for (const out of floats) list.push({ query, cache, out, dim: 24, heads: 6, kvHeads: 2 })
    }
  }
  const long = { queryLength: 1, contextLength: 1000 }
  list.push({ sequences: [long], heads: 40, kvHeads: 1, dim: 16 })
  list.push({ sequences: [{ queryLength: 130, contextLength: 300 }], heads: 2, kvHeads: 1 })
  return list.map(attentionCase)
}

export function kvWriteCases(): OpCase[] {
  const pairs = floats.flatMap((from) => floats.map((to) => [from, to] as const))
  return pairs.map(([from, to]) =>
    lazyCase(`kvWrite ${from} → ${to}`, (random) => {
      const [blocks, layers, layer, kvHeads, blockSize, dim] = [5, 3, 1, 2, 16, 24]
      const slots = [79, -1, 0, 17, 16, -5, 40, 3]
      const tokens = slots.length
      const key = random.values(tokens * kvHeads * dim, from)
      const value = random.values(tokens * kvHeads * dim, from)
      const elements = blocks * layers * 2 * kvHeads * blockSize * dim
      return {
        run(device) {
          using scope = new Scope(device)
          const zeros = new Float32Array(elements)
          const cache = scope.buffer(to, [blocks, layers, 2, kvHeads, blockSize, dim], zeros)
          const keys = scope.heads(from, { tokens, heads: kvHeads, dim }, key)
          const values = scope.heads(from, { tokens, heads: kvHeads, dim }, value)
          kvWrite(cache, layer, keys.view, values.view, slots)
          return { cache: cache.readNumbers() }
        },
        reference() {
          const cache = new Float32Array(elements)
          slots.forEach((slot, t) => {
            if (slot < 0) return
            const block = Math.floor(slot / blockSize)
            for (const [side, source] of [key, value].entries()) {
              for (let h = 0; h < kvHeads; h++) {
                const head = ((block * layers + layer) * 2 + side) * kvHeads + h
                const at = (head * blockSize + (slot % blockSize)) * dim
                const start = (t * kvHeads + h) * dim
                cache.set(round(to, source.subarray(start, start + dim)), at)
              }
            }
          })
          return { cache }
        },
        tolerance: { relative: 0, absolute: 0 },
      }
    }),
  )
}
