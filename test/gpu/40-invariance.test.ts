/** A result depends on its own inputs alone: not on the batch, the launch shape or the run. */
import { linear, pagedAttention } from '../../lib/ops/index.js'
import type { KvCacheArgument } from '../../lib/ops/index.js'
import { codings, nameOf } from '../ops-cases/coded-cache.js'
import type { Coding } from '../ops-cases/coded-cache.js'
import { fillCache, layPages } from '../ops-cases/paged.js'
import { Random } from '../ops-cases/random.js'
import { Scope } from '../ops-cases/scope.js'
import { fewTokensCases } from './aligned-cases.js'
import { fillCoded } from './aligned-variants.js'
import { expectSameBits, useDevices } from './devices.js'

const devices = useDevices()

describe.each(['bf16', 'fp16'] as const)('linear, %s', (dtype) => {
  test.each([
    [400, 6400, 136],
    [140, 600, 576],
    [260, 4100, 200],
    [90, 12800, 136],
  ])('%i rows of %i outputs over %i: each has the bits it has alone', (m, n, k) => {
    const random = new Random(m)
    const x = random.values(m * k, dtype)
    using scope = new Scope(devices.cuda)
    const weight = scope.matrix(dtype, n, k, random.values(n * k, dtype), 0)
    const run = (first: number, rows: number): Float32Array => {
      const inputs = scope.matrix(dtype, rows, k, x.subarray(first * k, (first + rows) * k), 0)
      const out = scope.matrix('fp32', rows, n, null, 0)
      linear(out.view, inputs.view, weight.view)
      return out.read()
    }
    const all = run(0, m)
    for (const [first, rows] of [
      [0, 1],
      [m - 1, 1],
      [1, 5],
      [3, 16],
      [7, 17],
      [20, 70],
      [9, 33],
      [2, 64],
      [1, 130],
      [5, 255],
    ] as const) {
      if (first + rows > m) continue
      expectSameBits(run(first, rows), all.slice(first * n, (first + rows) * n))
    }
  })
})

test.each([
  [100, 1071, 2056],
  [128, 50, 4096],
])('linear: %i rows of %i outputs over %i have the same bits every time', (m, n, k) => {
  // Long enough for two blocks to divide K.
  const random = new Random(k)
  using scope = new Scope(devices.cuda)
  const inputs = scope.matrix('bf16', m, k, random.values(m * k, 'bf16'), 0)
  const weight = scope.matrix('bf16', n, k, random.values(n * k, 'bf16'), 0)
  const run = (): Float32Array => {
    const out = scope.matrix('fp32', m, n, null, 0)
    linear(out.view, inputs.view, weight.view)
    return out.read()
  }
  const first = run()
  for (let again = 0; again < 5; again++) expectSameBits(run(), first)
})

const [heads, kvHeads, blockSize] = [6, 2, 16]

/** Contexts of several lengths in one cache, any query tokens of which can be computed in one call. */
class Contexts implements Disposable {
  readonly #scope = new Scope(devices.cuda)
  readonly #pages
  readonly #queries
  readonly #cache: KvCacheArgument

  constructor(
    readonly lengths: readonly number[],
    readonly dim = 64,
    coding: Coding | null = null,
  ) {
    const size = heads * dim
    const random = new Random(lengths.length)
    this.#pages = layPages(lengths, blockSize, random)
    const sequences = lengths.map((contextLength) => ({
      contextLength,
      keys: random.values(contextLength * kvHeads * dim, 'bf16'),
      values: random.values(contextLength * kvHeads * dim, 'bf16'),
    }))
    this.#queries = lengths.map((length) => random.values(length * size, 'bf16'))
    const shape = { layers: 2, layer: 1, kvHeads, blockSize, dim, dtype: 'bf16' as const }
    this.#cache = coding
      ? fillCoded(this.#scope, { ...shape, coding }, this.#pages, sequences, {})
      : fillCache(this.#scope, shape, this.#pages, sequences)
  }

  /** Query tokens [begin, end) of each sequence named. */
  attend(parts: readonly (readonly [s: number, begin: number, end: number])[]): Float32Array[] {
    const { table, tableStride } = this.#pages
    const dim = this.dim
    const size = heads * dim
    const queries = parts.flatMap(([s, begin, end]) => [
      ...this.#queries[s]!.subarray(begin * size, end * size),
    ])
    const starts = [0]
    for (const [, begin, end] of parts) starts.push(starts.at(-1)! + end - begin)
    const tokens = starts.at(-1)!
    const out = this.#scope.heads('bf16', { tokens, heads, dim }, null, 0)
    const query = this.#scope.heads('bf16', { tokens, heads, dim }, queries, 0)
    pagedAttention(out.view, query.view, this.#cache, {
      layer: 1,
      queryStart: starts,
      contextLength: parts.map(([, , end]) => end),
      blockTable: parts.flatMap(([s]) => [
        ...table.subarray(s * tableStride, (s + 1) * tableStride),
      ]),
    })
    const rows = out.read()
    return parts.map((_, i) => rows.slice(starts[i]! * size, starts[i + 1]! * size))
  }

  [Symbol.dispose](): void {
    this.#scope[Symbol.dispose]()
  }
}

describe('attention', () => {
  test('a decode has the same bits alone, among many and beside a prefill', () => {
    // 400 decodes fill the device, so that one block takes all splits; alone, a cluster shares them.
    using contexts = new Contexts([1000, 333, 90, 257])
    const decodes = [0, 1, 2, 3].map(
      (s) => [s, contexts.lengths[s]! - 1, contexts.lengths[s]!] as const,
    )
    const alone = decodes.map((one) => contexts.attend([one])[0]!)
    const many = contexts.attend(Array.from({ length: 400 }, (_, i) => decodes[i % 4]!))
    many.forEach((rows, i) => expectSameBits(rows, alone[i % 4]!))
    const beside = contexts.attend([decodes[1]!, [2, 0, 80], decodes[0]!])
    expectSameBits(beside[0]!, alone[1]!)
    expectSameBits(beside[2]!, alone[0]!)
  })

  test.each([64, 80, 128, 256])('dim %i: a few tokens have the same bits in any batch', (dim) => {
    // From chunks of single items to whole items: how many there are decides what a block takes at a time.
    using contexts = new Contexts([2100, 333, 90, 1024], dim)
    const parts = ([8, 2, 5, 3] as const).map(
      (tokens, s) => [s, contexts.lengths[s]! - tokens, contexts.lengths[s]!] as const,
    )
    const alone = parts.map((one) => contexts.attend([one])[0]!)
    for (const count of [7, 60, 500]) {
      const many = contexts.attend(Array.from({ length: count }, (_, i) => parts[i % 4]!))
      many.forEach((rows, i) => expectSameBits(rows, alone[i % 4]!))
    }
    const beside = contexts.attend([parts[0]!, [1, 332, 333], [2, 0, 80], parts[3]!])
    expectSameBits(beside[0]!, alone[0]!)
    expectSameBits(beside[3]!, alone[3]!)
  })

  test.each(codings.map((coding) => [nameOf(coding), coding] as const))(
    'codes of %s: the same bits alone, in a batch and in chunks',
    (_, coding) => {
      using contexts = new Contexts([1100, 333, 90], 128, coding)
      const parts = [
        [0, 1099, 1100],
        [1, 325, 333],
        [2, 0, 90],
      ] as const
      const alone = parts.map((one) => contexts.attend([one])[0]!)
      const many = contexts.attend(Array.from({ length: 70 }, (_, i) => parts[i % 3]!))
      many.forEach((rows, i) => expectSameBits(rows, alone[i % 3]!))
      const [chunk] = contexts.attend([[2, 20, 90]])
      expectSameBits(chunk!, alone[2]!.slice(20 * heads * 128))
    },
  )

  test.each([64, 80, 128, 256])(
    'dim %i: a prompt has the same bits alone, in a batch and in chunks',
    (dim) => {
      using contexts = new Contexts([450, 77], dim)
      const size = heads * dim
      const [whole] = contexts.attend([[0, 0, 450]])
      const batch = contexts.attend([
        [1, 0, 77],
        [0, 0, 450],
        [1, 76, 77],
      ])
      expectSameBits(batch[1]!, whole!)
      for (const [begin, end] of [
        [0, 33],
        [33, 100],
        [100, 353],
        [353, 450],
      ] as const) {
        const [chunk] = contexts.attend([[0, begin, end]])
        expectSameBits(chunk!, whole!.slice(begin * size, end * size))
      }
    },
  )

  test('the same bits every time', () => {
    for (const one of fewTokensCases().slice(0, 4)) {
      const run = (): Float32Array => Float32Array.from(one.run(devices.cuda)['out']!)
      const first = run()
      for (let again = 0; again < 5; again++) expectSameBits(run(), first)
    }
  })
})
