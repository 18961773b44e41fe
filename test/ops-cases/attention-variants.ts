/** Cases of what models and callers add to attention: soft cap, sinks, log-sum-exp, alone and together. */
import { pagedAttention } from '../../lib/ops/index.js'
import type { FloatDType } from '../../lib/ops/index.js'
import { mixed } from './attention.js'
import { lazyCase, unit } from './compare.js'
import type { OpCase } from './compare.js'
import { fillCache, layPages } from './paged.js'
import * as reference from './reference-attention.js'
import { floats } from './rows.js'
import { Scope } from './scope.js'

export interface VariantCase {
  dim: number
  heads: number
  kvHeads: number
  blockSize: number
  window: number
  softCap: number
  /** Mean of the sinks; null: none. Far above or below the scores they win or vanish. */
  sink: number | null
  logSumExp: boolean
  dtype: FloatDType
  sequences: readonly { queryLength: number; contextLength: number }[]
}

const usual: VariantCase = {
  dim: 64,
  heads: 6,
  kvHeads: 2,
  blockSize: 32,
  window: 0,
  softCap: 0,
  sink: null,
  logSumExp: true,
  dtype: 'fp32',
  sequences: mixed,
}

const infinite = -Infinity

export function variantCase(given: Partial<VariantCase>): OpCase {
  const shape = { ...usual, ...given }
  const { dim, heads, kvHeads, blockSize, window, softCap, sink, dtype, sequences } = shape
  const name =
    `pagedAttention dim ${dim}, ${heads}/${kvHeads} heads, blocks of ${blockSize}, window ${window}, ` +
    `cap ${softCap}, sink ${sink}, ${dtype}${shape.logSumExp ? ', log-sum-exp' : ''}, ` +
    sequences.map(({ queryLength, contextLength }) => `${queryLength}/${contextLength}`).join(' ')
  return lazyCase(name, (random) => {
    const tensors = sequences.map(({ queryLength, contextLength }) => ({
      queryLength,
      contextLength,
      query: random.values(queryLength * heads * dim, dtype, 3),
      keys: random.values(contextLength * kvHeads * dim, dtype),
      values: random.values(contextLength * kvHeads * dim, dtype),
    }))
    const starts = sequences.reduce((all, one) => [...all, all.at(-1)! + one.queryLength], [0])
    const contexts = sequences.map(({ contextLength }) => contextLength)
    const pages = layPages(contexts, blockSize, random)
    const tokens = starts.at(-1)!
    const queries = Float32Array.from(tensors.flatMap(({ query }) => [...query]))
    const spread = random.values(heads, 'fp32', 2)
    if (sink !== null) spread[heads - 1] = infinite
    const sinks = sink === null ? null : spread.map((value) => value + sink)
    const scale = 1 / Math.sqrt(dim)
    return {
      run(device) {
        using scope = new Scope(device)
        const cacheShape = { layers: 2, layer: 1, kvHeads, blockSize, dim, dtype }
        const cache = fillCache(scope, cacheShape, pages, tensors)
        const query = scope.heads(dtype, { tokens, heads, dim }, queries)
        const out = scope.heads(dtype, { tokens, heads, dim }, null)
        const sums = shape.logSumExp
          ? scope.fp32([tokens, heads], new Float32Array(tokens * heads).fill(NaN))
          : undefined
        pagedAttention(out.view, query.view, cache, {
          layer: 1,
          queryStart: starts,
          contextLength: contexts,
          blockTable: pages.table,
          window,
          softCap,
          ...(sinks !== null && { sinks: scope.fp32([heads], sinks) }),
          ...(sums !== undefined && { logSumExp: sums }),
        })
        return { out: out.read(), ...(sums !== undefined && { logSumExp: sums.read() }) }
      },
      reference() {
        const parts = tensors.map((one) =>
          reference.attentionAndSums(one, {
            heads,
            kvHeads,
            dim,
            scale,
            window,
            softCap,
            ...(sinks !== null && { sinks }),
          }),
        )
        return {
          out: parts.flatMap((part) => [...part.out]),
          ...(shape.logSumExp && { logSumExp: parts.flatMap((part) => [...part.logSumExp]) }),
        }
      },
      tolerance: { relative: unit[dtype] + 2 ** -20, absolute: 2 ** -18 },
    }
  })
}

export function variantCases(): OpCase[] {
  const list: Partial<VariantCase>[] = [{}]
  for (const softCap of [0.5, 5, 50, 1e4]) list.push({ softCap }, { softCap, window: 17 })
  for (const sink of [-40, -1, 0, 3, 40]) list.push({ sink }, { sink, window: 16 })
  for (const dim of [8, 24, 80, 96, 128, 192, 256]) {
    list.push({ dim, softCap: 20, sink: 1, heads: 8, kvHeads: 2 })
  }
  for (const dtype of floats) {
    for (const blockSize of [16, 64]) {
      list.push({ dtype, blockSize, sink: 1, logSumExp: false }, { dtype, blockSize, softCap: 4 })
    }
    list.push({ dtype, sink: 2, softCap: 8, window: 100, dim: 128, heads: 16, kvHeads: 2 })
  }
  const long = [{ queryLength: 1, contextLength: 1000 }]
  list.push({ sequences: long, sink: 0, softCap: 30, heads: 40, kvHeads: 1, dim: 16 })
  list.push({ sequences: [{ queryLength: 130, contextLength: 300 }], sink: 0, window: 128 })
  return list.map(variantCase)
}
