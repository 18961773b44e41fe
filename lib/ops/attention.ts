/** Rotary embedding, and attention over the paged KV cache. */
import { OctavoError } from '../errors.js'
import { requireApart } from './aliasing.js'
import type { DeviceBuffer } from './buffer.js'
import { float32s, int32s, requireFinite } from './indices.js'
import type { Int32s } from './indices.js'
import { cacheBuffer, nativeCache } from './kv-cache.js'
import type { KvCacheArgument } from './kv-cache.js'
import { callOps } from './load.js'
import type { NativeAttention, NativeKvCache, NativeMatrix } from './native.js'
import { readOptions } from './options.js'
import { deviceOf, isBuffer, nativeHeads, nativeMatrix, nativeVector, shapeOf } from './shape.js'
import type { HeadsArgument } from './shape.js'

/** How {@link rope} rotates. */
export interface RopeOptions {
  /** Of every token. */
  positions: Int32s
  /** `dim / 2` of them; the angle of pair i is `position · inverseFrequencies[i]`. */
  inverseFrequencies: Float32Array | readonly number[]
  /** Multiplies cos and sin (YaRN's attention factor); default 1. */
  magnitude?: number
}

export const ropeNames = { positions: true, inverseFrequencies: true, magnitude: true } as const

/** The addon's form of them. */
export function readRope({ positions, inverseFrequencies, magnitude = 1 }: RopeOptions): {
  positions: Int32Array
  inverseFrequencies: Float32Array
  magnitude: number
} {
  const frequencies = float32s('inverseFrequencies', inverseFrequencies)
  requireFinite('inverseFrequencies', frequencies)
  return {
    positions: int32s('positions', positions),
    inverseFrequencies: frequencies,
    magnitude,
  }
}

/** Rotates queries and keys in place, in half-split pairs `(i, i + dim / 2)`. */
export function rope(query: HeadsArgument, key: HeadsArgument, options: RopeOptions): void {
  const call = {
    query: nativeHeads('query', query),
    key: nativeHeads('key', key),
    ...readRope(readOptions(options, ropeNames)),
  }
  requireApart({ query, key })
  callOps((ops) => ops.rope(deviceOf('query', query), call))
}

/** A ragged batch: what {@link pagedAttention} needs to know of each sequence. */
export interface AttentionOptions {
  layer: number
  /** `sequences + 1` ascending numbers from 0: sequence s owns query tokens `queryStart[s] … queryStart[s + 1]`. */
  queryStart: Int32s
  /** Tokens each sequence sees, those of this call included. */
  contextLength: Int32s
  /** `[sequences, blocks]`: the physical block of each logical one. Entries past the context are not read. */
  blockTable: Int32s
  /** default 1 / √headDim */
  scale?: number
  /** A query sees the last `window` keys, itself included; 0, the default, is all. */
  window?: number
  /** Scores become `softCap · tanh(score / softCap)`, as in Gemma 2; 0, the default: they stay. */
  softCap?: number
  /** A score a query head that takes its share of the softmax and has no value, as in gpt-oss. Default: none. */
  sinks?: DeviceBuffer<'fp32'>
  /**
   * `[tokens, heads]`: becomes the natural logarithm of the sum of e^score, the sink's included, by which parts of a
   * context that were attended apart are brought together. Tokens of no sequence keep what they had. Default: none.
   */
  logSumExp?: DeviceBuffer<'fp32'>
  /** Of a layer of a cache that scales by tensor: what its codes were written with. Default 1. */
  keyScale?: number
  valueScale?: number
}

export const attentionNames = {
  layer: true,
  queryStart: true,
  contextLength: true,
  blockTable: true,
  scale: true,
  window: true,
  softCap: true,
  sinks: true,
  logSumExp: true,
  keyScale: true,
  valueScale: true,
} as const

/** Only by tensor: the others carry their scales in the block. */
function requireTensorScales(cache: NativeKvCache, options: AttentionOptions): void {
  for (const name of ['keyScale', 'valueScale'] as const) {
    if (options[name] === undefined || cache.scaling === 'tensor') continue
    const what = cache.scaling === 'none' ? 'a cache of floats has none' : 'the blocks hold theirs'
    throw new OctavoError('OCTAVO_INVALID_ARGUMENT', `${name} was given, but ${what}`)
  }
}

/** The addon's form of a buffer of shape `[tokens, heads]`. */
function nativeSums(sums: DeviceBuffer<'fp32'>): NativeMatrix {
  const native = nativeMatrix('logSumExp', sums)
  const sizes = isBuffer(sums) ? shapeOf('logSumExp', sums) : []
  if (sizes.length === 2) return native
  const shape = `[${sizes.join(', ')}]`
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `logSumExp has shape ${shape}: expected a buffer of [tokens, heads]`,
  )
}

type Scale = 'keyScale' | 'valueScale'

/** The addon's form of attention of `query`, but for the cache's scales. */
export function attentionCall(
  out: HeadsArgument,
  query: HeadsArgument,
  cache: NativeKvCache,
  options: Omit<AttentionOptions, Scale>,
): Omit<NativeAttention, Scale> {
  const nativeQuery = nativeHeads('query', query)
  return {
    out: nativeHeads('out', out),
    query: nativeQuery,
    cache,
    layer: options.layer,
    queryStart: int32s('queryStart', options.queryStart),
    contextLength: int32s('contextLength', options.contextLength),
    blockTable: int32s('blockTable', options.blockTable),
    scale: options.scale === undefined ? 1 / Math.sqrt(nativeQuery.dim) : options.scale,
    window: options.window === undefined ? 0 : options.window,
    softCap: options.softCap === undefined ? 0 : options.softCap,
    sinks: options.sinks === undefined ? null : nativeVector('sinks', options.sinks),
    logSumExp: options.logSumExp === undefined ? null : nativeSums(options.logSumExp),
  }
}

/** Causal attention of `query` over the cache, query heads grouped over KV heads; `out` has query's shape. */
export function pagedAttention(
  out: HeadsArgument,
  query: HeadsArgument,
  cache: KvCacheArgument,
  options: AttentionOptions,
): void {
  const read = readOptions(options, attentionNames)
  const native = nativeCache('cache', cache)
  requireTensorScales(native, read)
  const call = {
    ...attentionCall(out, query, native, read),
    keyScale: read.keyScale === undefined ? 1 : read.keyScale,
    valueScale: read.valueScale === undefined ? 1 : read.valueScale,
  }
  const { sinks, logSumExp } = read
  const memory = cacheBuffer('cache', cache)
  requireApart({ out, query, cache: memory, sinks, logSumExp })
  if (logSumExp !== undefined) requireApart({ logSumExp, query, cache: memory, sinks })
  callOps((ops) => ops.pagedAttention(deviceOf('out', out), call))
}
