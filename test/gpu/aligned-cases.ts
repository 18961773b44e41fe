/** Cases whose rows lie on 16-byte boundaries, as a model's do: they reach the vector and tensor-core kernels. */
import { addRmsNorm, embedding, linear, pagedAttention, swiglu } from '../../lib/ops/index.js'
import type { FloatDType } from '../../lib/ops/index.js'
import { lazyCase, tensorSumError, unit } from '../ops-cases/compare.js'
import type { OpCase } from '../ops-cases/compare.js'
import { fillCache, layPages, seenTable } from '../ops-cases/paged.js'
import { Random, round } from '../ops-cases/random.js'
import * as attentionReference from '../ops-cases/reference-attention.js'
import * as rowReference from '../ops-cases/reference-rows.js'
import { Scope } from '../ops-cases/scope.js'

/** Elements between rows: 16 bytes of a 16-bit type, so that rows stay aligned and what lies between is poison. */
const gap = 8
const halves = ['bf16', 'fp16'] as const

function alignedLinearCase(
  shape: readonly [m: number, n: number, k: number],
  [x, weight, out]: readonly [FloatDType, FloatDType, FloatDType],
  biased: boolean,
  seed: number,
): OpCase {
  const [m, n, k] = shape
  const name = `linear ${m}×${n}×${k} ${x} · ${weight} → ${out}${biased ? ' + bias' : ''}`
  return lazyCase(name, () => {
    const random = new Random(seed)
    const inputs = random.values(m * k, x)
    const weights = random.values(n * k, weight)
    const biases = biased ? random.values(n, weight) : null
    return {
      run(device) {
        using scope = new Scope(device)
        const placed = scope.matrix(out, m, n, null, gap)
        const left = scope.matrix(x, m, k, inputs, gap)
        const right = scope.matrix(weight, n, k, weights, gap)
        const added = biases ? scope.vector(weight, biases) : undefined
        linear(placed.view, left.view, right.view, added)
        return { out: placed.read() }
      },
      reference: () => ({ out: rowReference.linear(inputs, weights, biases, shape) }),
      // Tensor cores cut off, rather than round, what each step of 16 adds to a sum.
      tolerance: { relative: unit[out] + 2 ** -19, absolute: tensorSumError(k) },
    }
  })
}

/** Every tile of the tensor-core kernel with full and ragged edges, and the vector kernels of other dtypes. */
export function alignedLinearCases(): OpCase[] {
  const cases: OpCase[] = []
  const add = (
    shape: readonly [number, number, number],
    types: readonly [FloatDType, FloatDType, FloatDType],
    biased: boolean,
  ): void => {
    cases.push(alignedLinearCase(shape, types, biased, 20000 + cases.length))
  }
  for (const half of halves) {
    for (const m of [1, 2, 9, 16, 17, 64, 65, 129]) {
      for (const [n, k] of [
        [1, 8],
        [31, 64],
        [33, 72],
        [130, 192],
        [257, 520],
      ] as const) {
        add([m, n, k], [half, half, cases.length % 2 ? 'fp32' : half], cases.length % 3 === 1)
      }
    }
    // Enough tiles for the largest shape, on a card of up to 170 multiprocessors.
    add([400, 6400, 40], [half, half, half], true)
    add([70, 16400, 40], [half, half, 'fp32'], true)
  }
  for (const types of [
    ['fp32', 'fp32', 'fp32'],
    ['fp32', 'bf16', 'bf16'],
    ['bf16', 'fp16', 'fp16'],
    ['fp16', 'fp32', 'fp16'],
  ] as const) {
    for (const m of [1, 3, 4, 5, 33, 140]) add([m, 150, 1096], types, m % 2 === 0)
  }
  return cases
}

/**
 * Sizes that reach every tile of Hopper's kernels for 17 rows and more on a card of 132 multiprocessors; the small ones also
 * on one of few. N is no multiple of a tile, and several K outlast the ring.
 */
export function tiledLinearCases(): OpCase[] {
  const few = [
    [17, 2169, 72],
    [17, 4573, 200],
    [20, 6625, 72],
    [33, 8677, 136],
    [17, 12781, 72],
    [24, 17398, 136],
    [17, 25606, 72],
    [17, 29710, 72],
    [49, 7, 4104],
    [64, 2169, 200],
    [49, 4573, 72],
    [64, 6625, 136],
    [64, 8677, 72],
    [57, 12781, 72],
    [64, 17398, 72],
  ] as const
  const more = [
    [65, 1, 2056],
    [65, 1071, 72],
    [128, 2169, 136],
    [70, 3206, 200],
    [129, 2840, 72],
    [200, 3206, 72],
    [129, 6112, 72],
    [256, 6625, 72],
  ] as const
  const wide = [
    [257, 90, 2056],
    [65, 8677, 72],
    [65, 17398, 72],
    [129, 12781, 72],
    [300, 257, 520],
    [400, 1000, 200],
  ] as const
  // Of few multiprocessors: a tile each, then several, and a long K.
  const small = [
    [20, 386, 1096],
    [64, 522, 2056],
    [100, 190, 2056],
    [130, 260, 1032],
    [256, 386, 520],
  ] as const
  // Two blocks divide K.
  const divided = [
    [65, 50, 2056],
    [128, 197, 2120],
    [65, 1071, 2056],
    [70, 2169, 2048],
  ] as const
  const cases = [
    ...[...few, ...more, ...wide].map((shape, i) => [shape, halves[i % 2]!] as const),
    ...[...small, ...divided].flatMap((shape) => halves.map((half) => [shape, half] as const)),
  ]
  return cases.map(([shape, half], i) => {
    const out = i % 3 === 0 ? 'fp32' : half
    return alignedLinearCase(shape, [half, half, out], i % 4 < 2, 21000 + i)
  })
}

/** Sizes for the large tile of the kernel for A100-class cards, with every edge between tiles in sight. */
export function largeLinearCases(): OpCase[] {
  const sizes = [
    [128, 256, 8],
    [129, 257, 72],
    [300, 515, 200],
    [333, 9000, 136],
    [300, 8801, 72],
    [1500, 2100, 72],
    [140, 21000, 40],
  ] as const
  return sizes.flatMap((shape, i) =>
    halves.map((half, j) =>
      alignedLinearCase(shape, [half, half, i % 2 ? 'fp32' : half], i % 3 === 1, 21500 + 2 * i + j),
    ),
  )
}

interface Shape {
  dim: number
  heads: number
  kvHeads: number
  blockSize: number
  window: number
  dtype: FloatDType
  sequences: readonly (readonly [queryLength: number, contextLength: number])[]
  /** Keys double every so many tokens: later ones push the maximum of a row far up. */
  doubling?: number
}

function alignedAttentionCase(shape: Shape, seed: number): OpCase {
  const { dim, heads, kvHeads, blockSize, window, dtype, doubling = Infinity } = shape
  const list = shape.sequences.map(([query, context]) => `${query} of ${context}`).join(', ')
  const name = `pagedAttention dim ${dim}, ${heads}/${kvHeads} heads, blocks of ${blockSize}, window ${window}, ${dtype}, keys double every ${doubling}: ${list}`
  return lazyCase(name, () => {
    const random = new Random(seed)
    const keysOf = (count: number): Float32Array => {
      const keys = random.values(count, dtype)
      if (doubling === Infinity) return keys
      return keys.map((key, i) => key * 2 ** Math.floor(i / (kvHeads * dim * doubling)))
    }
    const sequences = shape.sequences.map(([queryLength, contextLength]) => ({
      queryLength,
      contextLength,
      query: random.values(queryLength * heads * dim, dtype),
      keys: keysOf(contextLength * kvHeads * dim),
      values: random.values(contextLength * kvHeads * dim, dtype),
    }))
    const starts = [0]
    for (const { queryLength } of sequences) starts.push(starts.at(-1)! + queryLength)
    const contexts = sequences.map(({ contextLength }) => contextLength)
    const pages = layPages(contexts, blockSize, random)
    const tokens = starts.at(-1)!
    const queries = Float32Array.from(sequences.flatMap(({ query }) => [...query]))
    return {
      run(device) {
        using scope = new Scope(device)
        const cacheShape = { layers: 2, layer: 1, kvHeads, blockSize, dim, dtype }
        const cache = fillCache(scope, cacheShape, pages, sequences)
        const query = scope.heads(dtype, { tokens, heads, dim }, queries, gap)
        const out = scope.heads(dtype, { tokens, heads, dim }, null, gap)
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
        const scale = 1 / Math.sqrt(dim)
        const parts = sequences.map((one) =>
          attentionReference.attention(one, { heads, kvHeads, dim, scale, window }),
        )
        return { out: parts.flatMap((part) => [...part]) }
      },
      // The result is rounded, and so may be the softmax weights of a prompt chunk: by unit · Σ weight · |value| at most.
      // That sum is about 1 where many keys share the weight; where keys double one has nearly all of it, and the sum is
      // the result's own size.
      tolerance: {
        relative: unit[dtype] * (doubling === Infinity ? 1 : 2) + 2 ** -20,
        absolute: Math.max(2 ** -15, unit[dtype]),
      },
    }
  })
}

/** What a draft leaves to verify: up to eight tokens are decodes, nine are a prompt. */
export function fewTokensCases(): OpCase[] {
  const sequences = [
    [8, 300],
    [5, 5],
    [2, 1000],
    [1, 77],
    [9, 120],
    [4, 2049],
    [7, 513],
  ] as const
  const deep = [
    [3, 9001],
    [1, 8300],
  ] as const
  return halves.flatMap((dtype, half) => {
    let seed = 30000 + 100 * half
    const of = (dim: number, heads: number, kvHeads: number, window: number): OpCase =>
      alignedAttentionCase({ dim, heads, kvHeads, blockSize: 16, window, dtype, sequences }, seed++)
    const narrow = { dim: 64, heads: 2, kvHeads: 1, blockSize: 64, window: 0, dtype }
    return [
      ...[64, 80, 96, 128, 192, 256].flatMap((dim) => [of(dim, 6, 2, 0), of(dim, 5, 1, 40)]),
      ...[64, 128].flatMap((dim) => [of(dim, 4, 1, 0), of(dim, 3, 3, 0)]), // 32 rows, and 8
      alignedAttentionCase({ ...narrow, sequences: deep }, seed++),
    ]
  })
}

/** Prefills from nothing, chunks and decodes side by side; windows, and groups of several sizes. */
export function mixedAttentionCases(): OpCase[] {
  const sequences = [
    [64, 64],
    [1, 129],
    [0, 40],
    [70, 200],
    [2, 2],
    [1, 1],
    [3, 67],
  ] as const
  const single = [
    [0, 152],
    [1, 33],
    [0, 5],
    [1, 240],
  ] as const
  const groups = [
    [14, 2],
    [8, 1],
    [9, 9],
  ] as const
  return halves.flatMap((dtype, half) => {
    const usual = { dim: 64, heads: 4, kvHeads: 4, blockSize: 64, window: 0, dtype, sequences }
    const shapes: Shape[] = [
      ...[8, 24, 64, 80, 96, 128, 192, 256].map((dim) => ({
        ...{ ...usual, dim, heads: 6, kvHeads: 2, blockSize: dim % 3 ? 16 : 32 },
      })),
      ...[1, 16, 33, 100].map((window) => ({ ...usual, window })),
      { ...usual, dim: 128, sequences: single },
      ...groups.map(([heads, kvHeads]) => ({ ...usual, dim: 128, heads, kvHeads, blockSize: 32 })),
    ]
    return shapes.map((shape, i) => alignedAttentionCase(shape, 31000 + 100 * half + i))
  })
}

/** Several tiles of queries and of keys, with every edge between them in sight. */
export function promptCases(dtype: (typeof halves)[number]): OpCase[] {
  const sequences = [
    [2, 79],
    [193, 193],
    [130, 401],
    [1, 260],
    [200, 513],
    [64, 129],
  ] as const
  let seed = dtype === 'bf16' ? 30031 : 30077
  return [64, 128, 256].flatMap((dim) =>
    [0, 150].flatMap((window) => {
      const blockSize = dim === 64 ? 16 : dim === 128 ? 32 : 64
      const shape = { dim, heads: 4, kvHeads: 2, blockSize, window, dtype, sequences }
      const doubled = { ...shape, doubling: 128 }
      return [alignedAttentionCase(shape, seed++), alignedAttentionCase(doubled, seed++)]
    }),
  )
}

/** The row kernels with 16-byte accesses. */
export function alignedRowCases(): OpCase[] {
  return halves.flatMap((dtype, index): OpCase[] => {
    const random = new Random(40000 + index)
    const [rows, columns] = [5, 1096]
    const x = random.values(rows * columns, dtype)
    const residual = random.values(rows * columns, dtype, 2)
    const weight = random.values(columns, dtype)
    const gateUp = random.values(rows * 2 * columns, dtype, 3)
    return [
      {
        name: `addRmsNorm ${dtype}`,
        run(device) {
          using scope = new Scope(device)
          const placed = scope.matrix(dtype, rows, columns, x, gap)
          const sums = scope.matrix(dtype, rows, columns, residual, gap)
          addRmsNorm(placed.view, sums.view, placed.view, scope.vector(dtype, weight), 1e-5)
          return { residual: sums.read(), out: placed.read() }
        },
        reference() {
          const sums = round(dtype, rowReference.sum(x, residual))
          return { residual: sums, out: rowReference.rmsNorm(sums, weight, 1e-5) }
        },
        tolerance: { relative: unit[dtype] + 2 ** -20, absolute: 2 ** -20 },
      },
      {
        name: `swiglu ${dtype}`,
        run(device) {
          using scope = new Scope(device)
          const placed = scope.matrix(dtype, rows, columns, null, gap)
          swiglu(placed.view, scope.matrix(dtype, rows, 2 * columns, gateUp, gap).view)
          return { out: placed.read() }
        },
        reference: () => ({ out: rowReference.swiglu(gateUp, columns) }),
        tolerance: { relative: unit[dtype] + 2 ** -20, absolute: 2 ** -24 },
      },
      {
        name: `embedding ${dtype}`,
        run(device) {
          using scope = new Scope(device)
          const placed = scope.matrix('fp32', 4, columns, null, gap)
          embedding(placed.view, [4, 0, -1, 5], scope.matrix(dtype, rows, columns, x, gap).view)
          return { out: placed.read() }
        },
        reference: () => ({ out: rowReference.selectRows(x, columns, [4, 0, -1, 5]) }),
        tolerance: { relative: 0, absolute: 0 },
      },
    ]
  })
}
