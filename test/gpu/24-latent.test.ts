/** Multi-head latent attention: every kernel, and that a result depends on its own sequence alone. */
import { latentAttention } from '../../lib/ops/index.js'
import {
  expandedCase,
  expandedCases,
  fillLatents,
  latentCase,
  latentCases,
  latentRowCases,
} from '../ops-cases/latent.js'
import { layPages } from '../ops-cases/paged.js'
import { Random } from '../ops-cases/random.js'
import { Scope } from '../ops-cases/scope.js'
import { expectSameBits, holdCuda, useDevices } from './devices.js'

const devices = useDevices()
const halves = ['bf16', 'fp16'] as const

holdCuda(devices, [...latentRowCases(), ...latentCases(), ...expandedCases()])

const sequencesOf = (...pairs: readonly (readonly [number, number])[]) =>
  pairs.map(([queryLength, contextLength]) => ({ queryLength, contextLength }))

/** Contexts around the edges of tiles and chunks, and one of many chunks. */
const decodes = sequencesOf(
  ...[1, 31, 32, 33, 64, 65, 128, 257, 1030].map((context) => [1, context] as const),
)
/** Decodes with speculated tokens, nothing to compute, and prompts that the decode kernel leaves alone. */
const mixedQueries = sequencesOf([3, 66], [0, 40], [8, 8], [1, 500], [9, 130], [2, 2], [17, 17])

const aligned = { rank: 512, ropeDim: 64, gap: 8 }
/** What the kernel for many heads asks for: its queries lie one after the other. */
const packed = { ...aligned, gap: 0 }
const few = sequencesOf([3, 66], [1, 200], [2, 129])

holdCuda(
  devices,
  halves.flatMap((dtype) => {
    const types = { query: dtype, cache: dtype, out: dtype }
    return [
      latentCase({ ...aligned, ...types, heads: 16, sequences: decodes }),
      latentCase({ ...aligned, ...types, heads: 5, blockSize: 32, sequences: mixedQueries }),
      latentCase({ ...aligned, ...types, heads: 20, blockSize: 16, sequences: few }),
      latentCase({ ...aligned, ...types, heads: 64, sequences: few }),
      latentCase({ ...packed, ...types, heads: 40, sequences: mixedQueries }),
      latentCase({ ...packed, ...types, heads: 64, sequences: decodes.slice(0, 8) }),
      latentCase({ ...packed, ...types, heads: 128, sequences: sequencesOf([1, 130], [1, 700]) }),
    ]
  }),
)

/** Prompts around the edges of tiles, chunks late in a context, and single tokens. */
const prompts = sequencesOf(
  [17, 17],
  [1, 129],
  [0, 40],
  [130, 257],
  [64, 64],
  [129, 129],
  [1, 1],
  [100, 400],
)

holdCuda(
  devices,
  halves.flatMap((dtype) => {
    const types = { query: dtype, cache: dtype, out: dtype }
    const dims = { keyDim: 128, ropeDim: 64, valueDim: 128, gap: 8 }
    return [
      expandedCase({ ...dims, ...types, heads: 3, sequences: prompts }),
      expandedCase({ ...dims, ...types, heads: 1, sequences: sequencesOf([300, 300]) }),
    ]
  }),
)

const width = 576
const rank = 512

/** Decodes of several contexts in one cache, any of which can be computed in one call. */
class Decodes implements Disposable {
  readonly #scope = new Scope(devices.cuda)
  readonly #pages
  readonly #queries
  readonly #cache

  constructor(
    readonly lengths: readonly number[],
    readonly heads: number,
  ) {
    const random = new Random(heads)
    this.#pages = layPages(lengths, 64, random)
    const sequences = lengths.map((contextLength) => ({
      contextLength,
      rows: random.values(contextLength * width, 'bf16'),
    }))
    this.#queries = lengths.map(() => random.values(heads * width, 'bf16'))
    const shape = { blockSize: 64, width, dtype: 'bf16' as const }
    this.#cache = fillLatents(this.#scope, this.#pages, shape, sequences)
  }

  attend(sequences: readonly number[]): Float32Array[] {
    const { heads } = this
    const { table, tableStride } = this.#pages
    const tokens = sequences.length
    const queries = sequences.flatMap((s) => [...this.#queries[s]!])
    const query = this.#scope.heads('bf16', { tokens, heads, dim: width }, queries, 0)
    const out = this.#scope.heads('bf16', { tokens, heads, dim: rank }, null, 0)
    latentAttention(out.view, query.view, this.#cache, {
      layer: 1,
      queryStart: Array.from({ length: tokens + 1 }, (_, token) => token),
      contextLength: sequences.map((s) => this.lengths[s]!),
      blockTable: sequences.flatMap((s) => [
        ...table.subarray(s * tableStride, (s + 1) * tableStride),
      ]),
      scale: 0.07,
    })
    const rows = out.read()
    return sequences.map((_, i) => rows.slice(i * heads * rank, (i + 1) * heads * rank))
  }

  [Symbol.dispose](): void {
    this.#scope[Symbol.dispose]()
  }
}

test.each([16, 128])('%i heads: a decode has the same bits alone and among many', (heads) => {
  using contexts = new Decodes([1000, 333, 4100, 90], heads)
  const alone = [0, 1, 2, 3].map((s) => contexts.attend([s])[0]!)
  for (const count of [4, 7, 60]) {
    const order = Array.from({ length: count }, (_, i) => i % 4)
    contexts.attend(order).forEach((rows, i) => expectSameBits(rows, alone[i % 4]!))
  }
})
