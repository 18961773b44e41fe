/** Rotary embedding, the paged KV cache and attention over it. */
import { requireApart, requireDistinct } from './aliasing.js'
import type { DeviceBuffer } from './buffer.js'
import type { FloatDType } from './dtype.js'
import { float32s, int32s, int64s, requireFinite } from './indices.js'
import type { Int32s, Int64s } from './indices.js'
import { callOps } from './load.js'
import { readOptions } from './options.js'
import { deviceOf, nativeCache, nativeHeads } from './shape.js'
import type { HeadsArgument } from './shape.js'

/**
 * A paged KV cache: a buffer of shape `[blocks, layers, 2, kvHeads, blockSize, headDim]`, where index 0 of
 * the third axis holds keys and 1 values. `blockSize` is 16, 32 or 64, `headDim` at most 256.
 */
export type KvCacheBuffer = DeviceBuffer<FloatDType>

/** How {@link rope} rotates. */
export interface RopeOptions {
  /** Of every token. */
  positions: Int32s
  /** `dim / 2` of them; the angle of pair i is `position · inverseFrequencies[i]`. */
  inverseFrequencies: Float32Array | readonly number[]
  /** Multiplies cos and sin (YaRN's attention factor); default 1. */
  magnitude?: number
}

const ropeNames = { positions: true, inverseFrequencies: true, magnitude: true } as const

/** Rotates queries and keys in place, in half-split pairs `(i, i + dim / 2)`. */
export function rope(query: HeadsArgument, key: HeadsArgument, options: RopeOptions): void {
  const { positions, inverseFrequencies, magnitude = 1 } = readOptions(options, ropeNames)
  const frequencies = float32s('inverseFrequencies', inverseFrequencies)
  requireFinite('inverseFrequencies', frequencies)
  const call = {
    query: nativeHeads('query', query),
    key: nativeHeads('key', key),
    positions: int32s('positions', positions),
    inverseFrequencies: frequencies,
    magnitude,
  }
  requireApart({ query, key })
  callOps((ops) => ops.rope(deviceOf('query', query), call))
}

/**
 * Stores one layer's keys and values: token t goes to `slots[t] = block · blockSize + offset`; negative
 * slots are skipped. Slots must differ from each other.
 */
export function kvWrite(
  cache: KvCacheBuffer,
  layer: number,
  key: HeadsArgument,
  value: HeadsArgument,
  slots: Int64s,
): void {
  const call = {
    cache: nativeCache('cache', cache),
    layer,
    key: nativeHeads('key', key),
    value: nativeHeads('value', value),
    slots: int64s('slots', slots),
  }
  requireApart({ cache, key, value })
  requireDistinct(call.slots)
  callOps((ops) => ops.kvWrite(deviceOf('cache', cache), call))
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
}

const attentionNames = {
  layer: true,
  queryStart: true,
  contextLength: true,
  blockTable: true,
  scale: true,
  window: true,
} as const

/** Causal attention of `query` over the cache, query heads grouped over KV heads; `out` has query's shape. */
export function pagedAttention(
  out: HeadsArgument,
  query: HeadsArgument,
  cache: KvCacheBuffer,
  options: AttentionOptions,
): void {
  const read = readOptions(options, attentionNames)
  const nativeQuery = nativeHeads('query', query)
  const call = {
    out: nativeHeads('out', out),
    query: nativeQuery,
    cache: nativeCache('cache', cache),
    layer: read.layer,
    queryStart: int32s('queryStart', read.queryStart),
    contextLength: int32s('contextLength', read.contextLength),
    blockTable: int32s('blockTable', read.blockTable),
    scale: read.scale === undefined ? 1 / Math.sqrt(nativeQuery.dim) : read.scale,
    window: read.window === undefined ? 0 : read.window,
  }
  requireApart({ out, query, cache })
  callOps((ops) => ops.pagedAttention(deviceOf('out', out), call))
}
