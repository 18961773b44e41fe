/** Multi-head latent attention: its paged cache, attention over latents and over what they expand to. */
import { requireApart, requireDistinct } from './aliasing.js'
import type { AttentionOptions } from './attention.js'
import type { DeviceBuffer } from './buffer.js'
import type { FloatDType } from './dtype.js'
import { int32s, int64s } from './indices.js'
import type { Int32s, Int64s } from './indices.js'
import { callOps } from './load.js'
import { readOptions } from './options.js'
import { deviceOf, nativeHeads, nativeLatentCache, nativeMatrix } from './shape.js'
import type { HeadsArgument, MatrixArgument } from './shape.js'

/**
 * A paged cache of latents: a buffer of shape `[blocks, layers, blockSize, width]`, whose rows hold
 * a token's latent and then its rotated key. `blockSize` is 16, 32 or 64, `width` at most 1024.
 */
export type LatentCacheBuffer = DeviceBuffer<FloatDType>

/**
 * Stores one layer's rows `[tokens, width]`: token t goes to `slots[t] = block · blockSize + offset`;
 * negative slots are skipped. Slots must differ from each other.
 */
export function latentWrite(
  cache: LatentCacheBuffer,
  layer: number,
  rows: MatrixArgument,
  slots: Int64s,
): void {
  const call = {
    cache: nativeLatentCache('cache', cache),
    layer,
    rows: nativeMatrix('rows', rows),
    slots: int64s('slots', slots),
  }
  requireApart({ cache, rows })
  requireDistinct(call.slots)
  callOps((ops) => ops.latentWrite(deviceOf('cache', cache), call))
}

/** Row r of `out` becomes the cached row of `slots[r]`, or zeros where that is negative. */
export function latentRead(
  out: MatrixArgument,
  cache: LatentCacheBuffer,
  layer: number,
  slots: Int64s,
): void {
  const call = {
    out: nativeMatrix('out', out),
    cache: nativeLatentCache('cache', cache),
    layer,
    slots: int64s('slots', slots),
  }
  requireApart({ out, cache })
  callOps((ops) => ops.latentRead(deviceOf('cache', cache), call))
}

/**
 * What {@link latentAttention} needs to know of a batch. `scale` has no default: it is that of the
 * head before its query was absorbed.
 */
export type LatentAttentionOptions = Pick<
  AttentionOptions,
  'layer' | 'queryStart' | 'contextLength' | 'blockTable'
> & { scale: number }

const latentNames = {
  layer: true,
  queryStart: true,
  contextLength: true,
  blockTable: true,
  scale: true,
} as const

/**
 * Causal attention of absorbed queries `[tokens, heads, width]` over cached latents: a row is the key
 * of every head, its first `out.dim` elements are the value.
 */
export function latentAttention(
  out: HeadsArgument,
  query: HeadsArgument,
  cache: LatentCacheBuffer,
  options: LatentAttentionOptions,
): void {
  const read = readOptions(options, latentNames)
  const call = {
    out: nativeHeads('out', out),
    query: nativeHeads('query', query),
    cache: nativeLatentCache('cache', cache),
    layer: read.layer,
    queryStart: int32s('queryStart', read.queryStart),
    contextLength: int32s('contextLength', read.contextLength),
    blockTable: int32s('blockTable', read.blockTable),
    scale: read.scale,
  }
  requireApart({ out, query, cache })
  callOps((ops) => ops.latentAttention(deviceOf('out', out), call))
}

/** A ragged batch of {@link expandedAttention}. */
export interface ExpandedAttentionOptions {
  /** `sequences + 1` ascending numbers from 0: s owns query tokens `queryStart[s] … queryStart[s + 1]`. */
  queryStart: Int32s
  /** Tokens each sequence sees, those of this call included. */
  contextLength: Int32s
  /** The row of `keyValue` in which the keys of each sequence begin. */
  keyStart: Int32s
  /** default 1 / √query.dim */
  scale?: number
}

const expandedNames = {
  queryStart: true,
  contextLength: true,
  keyStart: true,
  scale: true,
} as const

/**
 * Causal attention over keys and values expanded from latents, contiguous rather than paged. The key
 * of head h is the first part of its row of `keyValue` and then the token's row of `ropeKey`, which all
 * heads share; its value, of `out.dim` elements, is the rest of its row of `keyValue`.
 */
export function expandedAttention(
  out: HeadsArgument,
  query: HeadsArgument,
  keyValue: HeadsArgument,
  ropeKey: MatrixArgument,
  options: ExpandedAttentionOptions,
): void {
  const read = readOptions(options, expandedNames)
  const nativeQuery = nativeHeads('query', query)
  const call = {
    out: nativeHeads('out', out),
    query: nativeQuery,
    keyValue: nativeHeads('keyValue', keyValue),
    ropeKey: nativeMatrix('ropeKey', ropeKey),
    queryStart: int32s('queryStart', read.queryStart),
    contextLength: int32s('contextLength', read.contextLength),
    keyStart: int32s('keyStart', read.keyStart),
    scale: read.scale === undefined ? 1 / Math.sqrt(nativeQuery.dim) : read.scale,
  }
  requireApart({ out, query, keyValue, ropeKey })
  callOps((ops) => ops.expandedAttention(deviceOf('out', out), call))
}
