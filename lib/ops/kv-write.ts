/** Filling the paged KV cache: keys and values of a step, alone or with what comes before, and whole blocks. */
import { OctavoError } from '../errors.js'
import { invalid, isArray, reading, show } from '../options/reader.js'
import { requireApart, requireDistinct } from './aliasing.js'
import { readRope, ropeNames } from './attention.js'
import type { RopeOptions } from './attention.js'
import type { DeviceBuffer } from './buffer.js'
import { bytesOf } from './dtype.js'
import type { FloatDType } from './dtype.js'
import { int64s } from './indices.js'
import type { Int64s } from './indices.js'
import { cacheBuffer, kvBlockBytes, nativeCache } from './kv-cache.js'
import type { CodedKvCache, KvCacheArgument } from './kv-cache.js'
import { callOps } from './load.js'
import type { NativeKvCache, NativeRopeKvWrite, NativeVector } from './native.js'
import { readOptions } from './options.js'
import { deviceOf, isBuffer, nativeHeads, nativeVector, requireObject, shapeOf } from './shape.js'
import type { HeadsArgument } from './shape.js'

/** The scales that codes of a layer are written with; int8 makes its own. */
export interface KvScaleOptions {
  /**
   * Of a cache of fp8_e4m3: `code = key / keyScale`, rounded. A number above 0 (default 1) where it scales by tensor;
   * an fp32 buffer of one a KV head, in device memory, where it scales by head.
   */
  keyScale?: number | DeviceBuffer<'fp32'>
  valueScale?: number | DeviceBuffer<'fp32'>
}

const scaleNames: Record<keyof KvScaleOptions, true> = { keyScale: true, valueScale: true }

interface NativeScales {
  keyScale: number
  valueScale: number
  keyHeadScales: NativeVector | null
  valueHeadScales: NativeVector | null
}

function readScale(
  name: keyof KvScaleOptions,
  scale: KvScaleOptions['keyScale'],
  { scaling }: NativeKvCache,
): { number: number; heads: NativeVector | null } {
  if (scale === undefined) return { number: 1, heads: null }
  if (scaling === 'none' || scaling === 'token') {
    const what =
      scaling === 'none' ? 'a cache of floats has no scales' : 'int8 makes its own scales'
    throw new OctavoError('OCTAVO_INVALID_ARGUMENT', `${name} was given, but ${what}`)
  }
  if (scaling === 'head') {
    if (typeof scale !== 'object') throw invalid(name, scale, 'an fp32 buffer of one a KV head')
    return { number: 1, heads: nativeVector(name, scale) }
  }
  if (typeof scale === 'number' && Number.isFinite(scale) && Math.fround(scale) > 0)
    return { number: scale, heads: null }
  throw invalid(name, scale, 'a number above 0 in fp32')
}

function readScales({ keyScale, valueScale }: KvScaleOptions, cache: NativeKvCache): NativeScales {
  const key = readScale('keyScale', keyScale, cache)
  const value = readScale('valueScale', valueScale, cache)
  return {
    keyScale: key.number,
    valueScale: value.number,
    keyHeadScales: key.heads,
    valueHeadScales: value.heads,
  }
}

/**
 * Stores one layer's keys and values: token t goes to `slots[t] = block · blockSize + offset`; negative
 * slots are skipped. Slots must differ from each other. A cache of codes keeps `x / scale`, rounded to nearest even:
 * fp8_e4m3 up to ±448, int8 with `scale = max |x| / 127` of the token's head.
 */
export function kvWrite(
  cache: KvCacheArgument,
  layer: number,
  key: HeadsArgument,
  value: HeadsArgument,
  slots: Int64s,
  options?: KvScaleOptions,
): void {
  const native = nativeCache('cache', cache)
  const call = {
    cache: native,
    layer,
    key: nativeHeads('key', key),
    value: nativeHeads('value', value),
    slots: int64s('slots', slots),
    ...readScales(readOptions(options, scaleNames), native),
  }
  const memory = cacheBuffer('cache', cache)
  requireApart({ cache: memory, key, value })
  requireDistinct(call.slots)
  callOps((ops) => ops.kvWrite(deviceOf('cache', memory), call))
}

/** How {@link ropeKvWrite} brings a step into the cache. */
export interface RopeKvWriteOptions extends RopeOptions, KvScaleOptions {
  layer: number
  /** As in {@link kvWrite}. */
  slots: Int64s
  /** Weights of an RMSNorm over every head of query and key, ahead of the rotation. Default: none. */
  queryNorm?: DeviceBuffer<FloatDType>
  keyNorm?: DeviceBuffer<FloatDType>
  /** Of the norms; default 1e-6. */
  epsilon?: number
}

export const ropeKvWriteNames: Record<keyof RopeKvWriteOptions, true> = {
  ...ropeNames,
  ...scaleNames,
  layer: true,
  slots: true,
  queryNorm: true,
  keyNorm: true,
  epsilon: true,
}

/** A step on its way into a cache. */
export interface Step {
  cache: KvCacheArgument
  query: HeadsArgument
  key: HeadsArgument
  value: HeadsArgument
}

/** The addon's form of a step, whose arguments lie apart. */
export function ropeKvWriteCall(
  { cache, query, key, value }: Step,
  options: RopeKvWriteOptions,
): NativeRopeKvWrite {
  const native = nativeCache('cache', cache)
  const norm = (name: string, weight: DeviceBuffer<FloatDType> | undefined): NativeVector | null =>
    weight === undefined ? null : nativeVector(name, weight)
  const call = {
    cache: native,
    layer: options.layer,
    query: nativeHeads('query', query),
    key: nativeHeads('key', key),
    value: nativeHeads('value', value),
    slots: int64s('slots', options.slots),
    ...readRope(options),
    queryNorm: norm('queryNorm', options.queryNorm),
    keyNorm: norm('keyNorm', options.keyNorm),
    epsilon: options.epsilon === undefined ? 1e-6 : options.epsilon,
    ...readScales(options, native),
  }
  const memory = cacheBuffer('cache', cache)
  const norms = { queryNorm: options.queryNorm, keyNorm: options.keyNorm }
  requireApart({ query, key, value, ...norms, cache: memory })
  requireApart({ key, value, ...norms, cache: memory })
  requireApart({ cache: memory, value, ...norms })
  requireDistinct(call.slots)
  return call
}

/**
 * `headNorm` of query and key where a weight is given, `rope`, then `kvWrite`, in one pass: query and cache come out
 * with the same bits. `query` is turned in place; what `key` holds afterwards is left open.
 */
export function ropeKvWrite(
  cache: KvCacheArgument,
  query: HeadsArgument,
  key: HeadsArgument,
  value: HeadsArgument,
  options: RopeKvWriteOptions,
): void {
  const call = ropeKvWriteCall({ cache, query, key, value }, readOptions(options, ropeKvWriteNames))
  callOps((ops) => ops.ropeKvWrite(deviceOf('cache', cacheBuffer('cache', cache)), call))
}

/** A cache of any kind: a buffer whose first axis is blocks, or codes. */
export type BlocksArgument = DeviceBuffer | CodedKvCache

interface Blocks {
  buffer: DeviceBuffer
  count: number
  bytes: number
}

function blocksOf(name: string, argument: BlocksArgument): Blocks {
  requireObject(name, argument)
  if (!isBuffer(argument)) {
    const coded = argument as CodedKvCache
    const { blocks: count } = nativeCache(name, coded)
    const { buffer, ...shape } = coded
    return { buffer, count, bytes: kvBlockBytes(shape) }
  }
  const buffer = argument as DeviceBuffer
  const [count = 0, ...block] = shapeOf(name, argument)
  if (block.length === 0) {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `${name} has shape [${argument.shape.join(', ')}]: expected [blocks, …]`,
    )
  }
  return { buffer, count, bytes: (buffer.length / count) * bytesOf(buffer.dtype) }
}

function pairs(copies: readonly (readonly [from: number, to: number])[]): Int32Array {
  if (!isArray(copies)) throw invalid('copies', copies, 'an array of [from, to]')
  const copyOf = (copy: unknown): unknown => (isArray(copy) ? Array.from(copy) : copy)
  const list = reading('copies', () => Array.from(copies, copyOf))
  const flat = new Int32Array(2 * list.length)
  list.forEach((copy, i) => {
    const isBlock = (block: unknown): boolean =>
      Number.isInteger(block) && block === ((block as number) | 0)
    if (!isArray(copy) || copy.length !== 2 || !copy.every(isBlock))
      throw invalid(`copies[${i}]`, copy, 'two block numbers, [from, to]')
    flat.set(copy as number[], 2 * i)
  })
  return flat
}

/**
 * Copies whole blocks, in one launch however many: block `from` of a cache becomes block `to` of another, or of the
 * same. No block may be written twice, or written and read. Throws OCTAVO_INVALID_ARGUMENT naming both copies.
 */
export function copyBlocks(
  to: BlocksArgument,
  from: BlocksArgument,
  copies: readonly (readonly [from: number, to: number])[],
): void {
  const target = reading('to', () => blocksOf('to', to))
  const source = reading('from', () => blocksOf('from', from))
  if (target.bytes !== source.bytes || target.buffer.dtype !== source.buffer.dtype) {
    const text = ({ bytes, buffer }: Blocks): string => `${bytes} bytes of ${show(buffer.dtype)}`
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `a block of to is ${text(target)}, one of from ${text(source)}: they must be alike`,
    )
  }
  const call = {
    to: target.buffer.handle,
    from: source.buffer.handle,
    blockBytes: target.bytes,
    toBlocks: target.count,
    fromBlocks: source.count,
    copies: pairs(copies),
  }
  const memory = target.buffer as DeviceBuffer<FloatDType>
  callOps((ops) => ops.copyBlocks(deviceOf('to', memory), call))
}
