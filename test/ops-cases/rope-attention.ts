/** Cases of ropeAttention: the same step by the op, and by ropeKvWrite and pagedAttention in turn. */
import { pagedAttention, ropeAttention, ropeKvWrite } from '../../lib/ops/index.js'
import type { Device } from '../../lib/ops/index.js'
import { fillCache, layPages, slotOf } from './paged.js'
import { Random } from './random.js'
import { Scope } from './scope.js'

/** Outputs, their log-sum-exps and the cache after a step. */
export interface Attended {
  out: Float32Array
  sums: Float32Array
  cache: Float32Array
}

export interface RopeAttentionCase {
  name: string
  together(device: Device): Attended
  inTurn(device: Device): Attended
}

interface Shape {
  dtype: 'bf16' | 'fp16'
  dim: number
  heads: number
  kvHeads: number
  blockSize: number
  /** Of every sequence, its last token, the step's, included. */
  contexts: readonly number[]
  window?: number
  softCap?: number
  isNormed?: boolean
  hasSinks?: boolean
  /** The cache holds the last token: its slot is negative. */
  isStored?: boolean
}

function nameOf({ dtype, dim, heads, kvHeads, blockSize, contexts, ...rest }: Shape): string {
  const variants = Object.entries(rest).map(([name, value]) => `${name} ${value}`)
  const shape = `${heads} heads, ${kvHeads} of KV, dim ${dim}, blocks of ${blockSize}`
  return [`${dtype}, ${shape}, contexts ${contexts.join(' ')}`, ...variants].join(', ')
}

function run(shape: Shape, device: Device, isTogether: boolean): Attended {
  const { dtype, dim, heads, kvHeads, blockSize, contexts } = shape
  const random = new Random(dim + contexts[0]!)
  using scope = new Scope(device)
  const [layer, layers, tokens] = [1, 2, contexts.length]
  const pages = layPages(contexts, blockSize, random)
  const sequences = contexts.map((context) => {
    const contextLength = shape.isStored ? context : context - 1
    const numbers = () => random.values(contextLength * kvHeads * dim, dtype)
    return { keys: numbers(), values: numbers(), contextLength }
  })
  const cacheShape = { layers, layer, kvHeads, blockSize, dim, dtype }
  const filled = sequences.filter(({ contextLength }) => contextLength > 0)
  const cache = fillCache(scope, cacheShape, pages, filled)
  const placed = (count: number) =>
    scope.heads(dtype, { tokens, heads: count, dim }, random.values(tokens * count * dim, dtype))
  const [query, key, value] = [placed(heads), placed(kvHeads), placed(kvHeads)]
  const weight = () => scope.vector(dtype, random.values(dim, dtype))
  const norms = shape.isNormed ? { queryNorm: weight(), keyNorm: weight(), epsilon: 1e-5 } : {}
  const out = scope.heads(dtype, { tokens, heads, dim }, null)
  const logSumExp = scope.fp32([tokens, heads], new Float32Array(tokens * heads))
  const write = {
    layer,
    slots: contexts.map((context, s) =>
      shape.isStored ? -1 : slotOf(pages, blockSize, s, context - 1),
    ),
    positions: contexts.map((context) => context - 1),
    inverseFrequencies: Float32Array.from({ length: dim / 2 }, (_, i) => 10000 ** ((-2 * i) / dim)),
    ...norms,
  }
  const attention = {
    layer,
    queryStart: [...contexts.keys(), tokens],
    contextLength: [...contexts],
    blockTable: pages.table,
    window: shape.window ?? 0,
    softCap: shape.softCap ?? 0,
    ...(shape.hasSinks && { sinks: scope.fp32([heads], random.values(heads, 'fp32')) }),
    logSumExp,
  }
  if (isTogether) {
    ropeAttention(
      out.view,
      { cache, query: query.view, key: key.view, value: value.view },
      { ...write, ...attention },
    )
  } else {
    ropeKvWrite(cache, query.view, key.view, value.view, write)
    pagedAttention(out.view, query.view, cache, attention)
  }
  return { out: out.read(), sums: logSumExp.readNumbers(), cache: cache.readNumbers() }
}

const usual: Shape = {
  dtype: 'bf16',
  dim: 128,
  heads: 8,
  kvHeads: 2,
  blockSize: 16,
  contexts: [100],
}

const shapes: Shape[] = [
  usual,
  { ...usual, contexts: [1] },
  { ...usual, contexts: [16, 17] },
  { ...usual, contexts: [1600], isNormed: true },
  { ...usual, contexts: [257], isStored: true },
  { ...usual, contexts: [130, 33], dim: 64, dtype: 'fp16', isNormed: true },
  { ...usual, contexts: [300], blockSize: 32, heads: 16, softCap: 20, hasSinks: true },
  { ...usual, contexts: [500], heads: 6, kvHeads: 6, dim: 64, window: 70 },
  { ...usual, contexts: [700], dtype: 'fp16', window: 300, hasSinks: true },
  { ...usual, contexts: [40, 50, 60] },
  { ...usual, contexts: [90], dim: 96, heads: 4 },
]

export function ropeAttentionCases(): RopeAttentionCase[] {
  return shapes.map((shape) => ({
    name: nameOf(shape),
    together: (device) => run(shape, device, true),
    inTurn: (device) => run(shape, device, false),
  }))
}
