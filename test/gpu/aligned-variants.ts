/** Caches of codes, soft caps, sinks and log-sum-exps with rows on 16-byte boundaries: the split decode and tensor-core kernels. */
import { kvWrite, pagedAttention } from '../../lib/ops/index.js'
import type { KvCacheArgument } from '../../lib/ops/index.js'
import {
  codeRow,
  codedCache,
  codings,
  nameOf,
  randomScales,
  readOptions,
  scaleOptions,
} from '../ops-cases/coded-cache.js'
import type { Coding } from '../ops-cases/coded-cache.js'
import { lazyCase, unit } from '../ops-cases/compare.js'
import type { OpCase } from '../ops-cases/compare.js'
import { fillCache, layPages, seenTable, slotOf } from '../ops-cases/paged.js'
import type { Pages } from '../ops-cases/paged.js'
import { round } from '../ops-cases/random.js'
import { attentionAndSums } from '../ops-cases/reference-attention.js'
import { numbersOf } from '../ops-cases/reference-codes.js'
import { Scope } from '../ops-cases/scope.js'

const gap = 8
const halves = ['bf16', 'fp16'] as const

interface VariantShape {
  /** null: a cache of `dtype` */
  coding: Coding | null
  dtype: (typeof halves)[number]
  dim: number
  heads: number
  kvHeads: number
  blockSize: number
  window: number
  softCap: number
  sinks: boolean
  sequences: readonly (readonly [queryLength: number, contextLength: number])[]
}

/** Decodes, drafts to verify, prompts and chunks of them; one and several tiles of keys. */
const everyLength = [
  [1, 300],
  [8, 77],
  [0, 40],
  [1, 16],
  [3, 513],
  [9, 120],
  [1, 2],
  [130, 201],
  [5, 5],
  [1, 1090],
] as const

const usual: VariantShape = {
  coding: null,
  dtype: 'bf16',
  dim: 128,
  heads: 8,
  kvHeads: 2,
  blockSize: 32,
  window: 0,
  softCap: 0,
  sinks: false,
  sequences: everyLength,
}

interface Tensors {
  queryLength: number
  contextLength: number
  query: Float32Array
  keys: Float32Array
  values: Float32Array
}

/** Rows of `dim` as the codes of them, written by `scales` a head, stand for. */
function numbersOfRows(
  rows: Float32Array,
  coding: Coding,
  dim: number,
  scales: Float32Array,
): Float32Array {
  const numbers = new Float32Array(rows.length)
  for (let row = 0; row * dim < rows.length; row++) {
    const from = rows.subarray(row * dim, (row + 1) * dim)
    numbers.set(
      numbersOf(codeRow(coding, from, scales[row % scales.length]!), coding.dtype),
      row * dim,
    )
  }
  return numbers
}

function alignedVariantCase(given: Partial<VariantShape>): OpCase {
  const shape = { ...usual, ...given }
  const { coding, dtype, dim, heads, kvHeads, blockSize, window, softCap } = shape
  const name =
    `pagedAttention of ${dtype} over ${coding ? nameOf(coding) : dtype}, dim ${dim}, ${heads}/${kvHeads} heads, ` +
    `blocks of ${blockSize}, window ${window}, cap ${softCap}${shape.sinks ? ', sinks' : ''}: ` +
    shape.sequences.map(([query, context]) => `${query} of ${context}`).join(', ')
  return lazyCase(name, (random) => {
    /** Tokens of several sizes, as scales of their own must tell apart. */
    const rows = (tokens: number): Float32Array => {
      const values = random.values(tokens * kvHeads * dim, dtype)
      if (coding?.scaling !== 'token') return values
      const sizes = Float32Array.from(
        { length: tokens * kvHeads },
        () => 2 ** (2 * random.uniform() - 1),
      )
      return round(
        dtype,
        values.map((value, i) => value * sizes[Math.floor(i / dim)]!),
      )
    }
    const tensors: Tensors[] = shape.sequences.map(([queryLength, contextLength]) => ({
      queryLength,
      contextLength,
      query: random.values(queryLength * heads * dim, dtype),
      keys: rows(contextLength),
      values: rows(contextLength),
    }))
    const contexts = tensors.map(({ contextLength }) => contextLength)
    const starts = tensors.reduce(
      (all, { queryLength }) => [...all, all.at(-1)! + queryLength],
      [0],
    )
    const tokens = starts.at(-1)!
    const pages = layPages(contexts, blockSize, random)
    const scales = coding ? randomScales(coding, kvHeads, random) : null
    const sinks = shape.sinks ? random.values(heads, 'fp32', 2) : null
    const queries = Float32Array.from(tensors.flatMap(({ query }) => [...query]))

    const cacheOf = (scope: Scope): KvCacheArgument =>
      coding
        ? fillCoded(
            scope,
            { ...shape, coding },
            pages,
            tensors,
            scaleOptions(scope, coding, scales!),
          )
        : fillCache(scope, { layers: 2, layer: 1, kvHeads, blockSize, dim, dtype }, pages, tensors)

    return {
      run(device) {
        using scope = new Scope(device)
        const cache = cacheOf(scope)
        const query = scope.heads(dtype, { tokens, heads, dim }, queries, gap)
        const out = scope.heads(dtype, { tokens, heads, dim }, null, gap)
        const logSumExp = scope.fp32([tokens, heads], new Float32Array(tokens * heads).fill(NaN))
        pagedAttention(out.view, query.view, cache, {
          layer: 1,
          queryStart: starts,
          contextLength: contexts,
          blockTable: seenTable(pages, tensors, blockSize, window),
          window,
          softCap,
          logSumExp,
          ...(sinks && { sinks: scope.fp32([heads], sinks) }),
          ...(coding && readOptions(coding, scales!)),
        })
        return { out: out.read(), logSumExp: logSumExp.read() }
      },
      reference() {
        const how = {
          heads,
          kvHeads,
          dim,
          scale: 1 / Math.sqrt(dim),
          window,
          softCap,
          ...(sinks && { sinks }),
        }
        const parts = tensors.map((one) => {
          if (!coding) return attentionAndSums(one, how)
          const keys = numbersOfRows(one.keys, coding, dim, scales![0])
          return attentionAndSums(
            { ...one, keys, values: numbersOfRows(one.values, coding, dim, scales![1]) },
            how,
          )
        })
        return {
          out: parts.flatMap((part) => [...part.out]),
          logSumExp: parts.flatMap((part) => [...part.logSumExp]),
        }
      },
      // As of aligned-cases.ts; values here are up to twice as large.
      tolerance: {
        relative: unit[dtype] + 2 ** -20,
        absolute: 2 * Math.max(2 ** -15, unit[dtype]),
      },
    }
  })
}

/** Keys and values of every sequence as codes, in layer 1 of 2. */
export function fillCoded(
  scope: Scope,
  {
    coding,
    dtype,
    dim,
    kvHeads,
    blockSize,
  }: Pick<VariantShape, 'dtype' | 'dim' | 'kvHeads' | 'blockSize'> & { coding: Coding },
  pages: Pages,
  tensors: readonly Pick<Tensors, 'keys' | 'values' | 'contextLength'>[],
  options: object,
): KvCacheArgument {
  const layout = { ...coding, blocks: pages.blocks, layers: 2, kvHeads, blockSize, headDim: dim }
  const cache = codedCache(scope, layout)
  tensors.forEach(({ keys, values, contextLength }, s) => {
    const place = { tokens: contextLength, heads: kvHeads, dim }
    const [key, value] = [
      scope.heads(dtype, place, keys, gap),
      scope.heads(dtype, place, values, gap),
    ]
    const slots = Array.from({ length: contextLength }, (_, at) => slotOf(pages, blockSize, s, at))
    kvWrite(cache, 1, key.view, value.view, slots, options)
  })
  return cache
}

/** Every kernel for codes: dims, tiles of query rows, scalings, both dtypes of queries, blocks of every size. */
export function codedCases(): OpCase[] {
  return codings.flatMap((coding, c) => [
    ...[64, 128, 256].flatMap((dim, d) => [
      alignedVariantCase({ coding, dim, dtype: halves[(c + d) % 2]!, blockSize: [16, 32, 64][d]! }),
      alignedVariantCase({
        coding,
        dim,
        dtype: halves[(c + d + 1) % 2]!,
        heads: 5,
        kvHeads: 1,
        window: 40,
      }),
    ]),
    ...[64, 128].map((dim) =>
      alignedVariantCase({ coding, dim, heads: 32, kvHeads: 2, blockSize: 16 }),
    ),
    alignedVariantCase({ coding, heads: 3, kvHeads: 3, softCap: 3, sinks: true, dtype: 'fp16' }),
    alignedVariantCase({ coding, dim: 96, window: 100, softCap: 2 }),
    alignedVariantCase({ coding, dim: 24, heads: 4, sinks: true, dtype: 'fp16' }),
  ])
}

/** The same kernels for floats under caps and with sinks, and their log-sum-exps. */
export function variantCases(): OpCase[] {
  return halves.flatMap((dtype) => [
    ...[64, 80, 128, 192, 256].flatMap((dim) => [
      alignedVariantCase({ dtype, dim, softCap: 2, sinks: true, blockSize: dim % 64 ? 16 : 64 }),
      alignedVariantCase({ dtype, dim, softCap: 30, window: 50, heads: 6, kvHeads: 1 }),
    ]),
    alignedVariantCase({ dtype, sinks: true, heads: 32, kvHeads: 2 }),
    alignedVariantCase({ dtype, dim: 24 }),
  ])
}
