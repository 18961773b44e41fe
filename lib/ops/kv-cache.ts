/** The paged KV cache of a model: floats, or 8-bit codes with their scales. */
import { OctavoError } from '../errors.js'
import { reading, show } from '../options/reader.js'
import type { DeviceBuffer } from './buffer.js'
import type { FloatDType } from './dtype.js'
import type { NativeKvCache } from './native.js'
import { readOptions } from './options.js'
import { isBuffer, requireObject, shapeOf } from './shape.js'

/**
 * A paged KV cache of floats: a buffer of shape `[blocks, layers, 2, kvHeads, blockSize, headDim]`, where
 * index 0 of the third axis holds keys and 1 values. `blockSize` is 16, 32 or 64, `headDim` at most 256.
 */
export type KvCacheBuffer = DeviceBuffer<FloatDType>

/** What codes of a cache are: e4m3 numbers or 8-bit integers. */
export type KvCodeType = 'fp8_e4m3' | 'int8'

/** Sizes of a cache of codes, and what a code of 1 stands for. */
export interface CodedKvShape {
  dtype: KvCodeType
  /**
   * fp8_e4m3: 'tensor' (default), one scale for all keys and one for all values of a layer, given with every call;
   * or 'head', one a KV head, written into the block. int8: 'token', one a token and head, made as it is written.
   */
  scaling?: 'tensor' | 'head' | 'token'
  blocks: number
  layers: number
  kvHeads: number
  blockSize: number
  headDim: number
}

/**
 * A paged KV cache of 8-bit codes: `blocks` times {@link kvBlockBytes} in a buffer of bytes. A block is
 * `[layers, 2, kvHeads, blockSize, headDim]` codes, then its scales, fp32: `[layers, 2, kvHeads]` by head and
 * `[layers, 2, kvHeads, blockSize]` by token.
 */
export interface CodedKvCache extends CodedKvShape {
  buffer: DeviceBuffer<'u8'>
}

export type KvCacheArgument = KvCacheBuffer | CodedKvCache

const shapeNames: Record<keyof CodedKvShape, true> = {
  dtype: true,
  scaling: true,
  blocks: true,
  layers: true,
  kvHeads: true,
  blockSize: true,
  headDim: true,
}
const cacheNames: Record<keyof CodedKvCache, true> = { ...shapeNames, buffer: true }

function scalingOf(name: string, { dtype, scaling }: CodedKvShape): 'tensor' | 'head' | 'token' {
  if (dtype !== 'fp8_e4m3' && dtype !== 'int8') {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `${name}.dtype is ${show(dtype)}: expected fp8_e4m3 or int8`,
    )
  }
  const known = dtype === 'int8' ? (['token'] as const) : (['tensor', 'head'] as const)
  if (scaling === undefined) return known[0]
  const found = known.find((one) => one === scaling)
  if (found !== undefined) return found
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name}.scaling is ${show(scaling)}: expected ${known.join(' or ')} for ${dtype}`,
  )
}

/**
 * Bytes of a block of codes and their scales. Throws OCTAVO_INVALID_ARGUMENT, OCTAVO_UNKNOWN_OPTION.
 *
 * @example
 * ```ts
 * import { Device, kvBlockBytes } from 'octavo/ops'
 * using device = Device.open('cpu')
 * const shape = { dtype: 'int8', blocks: 8, layers: 2, kvHeads: 3, blockSize: 16, headDim: 64 } as const
 * const cache = { ...shape, buffer: device.buffer('u8', [shape.blocks, kvBlockBytes(shape)]) }
 * console.log(cache.buffer.bytes) // 8 · 2 · 2 · 3 · 16 · (64 + 4)
 * ```
 */
export function kvBlockBytes(shape: CodedKvShape): number {
  const { layers, kvHeads, blockSize, headDim, ...rest } = readOptions(shape, shapeNames, 'shape')
  const scaling = scalingOf('shape', { layers, kvHeads, blockSize, headDim, ...rest })
  for (const [name, size] of Object.entries({ layers, kvHeads, blockSize, headDim })) {
    if (Number.isSafeInteger(size) && size > 0) continue
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `shape.${name} is ${show(size)}: expected a positive integer`,
    )
  }
  const heads = layers * 2 * kvHeads
  const codes = heads * blockSize * headDim
  if (scaling === 'token') return codes + heads * blockSize * 4
  return scaling === 'head' ? codes + Math.ceil((heads * 4) / 16) * 16 : codes
}

/** Whether a cache argument is of codes. */
export function isCoded(cache: KvCacheArgument): cache is CodedKvCache {
  return !isBuffer(cache)
}

/** The addon's form of a cache. */
export function nativeCache(name: string, argument: KvCacheArgument): NativeKvCache {
  requireObject(name, argument)
  return reading(name, () => {
    return isCoded(argument) ? codedCache(name, argument) : floatCache(name, argument)
  })
}

function floatCache(name: string, argument: KvCacheBuffer): NativeKvCache {
  const [blocks, layers, two, kvHeads, blockSize, headDim, ...rest] = shapeOf(name, argument)
  if (headDim === undefined || rest.length > 0 || two !== 2) {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `${name} has shape [${argument.shape.join(', ')}]: expected [blocks, layers, 2, kvHeads, blockSize, headDim]`,
    )
  }
  const { handle: buffer, dtype } = argument
  const sizes = {
    blocks: blocks!,
    layers: layers!,
    kvHeads: kvHeads!,
    blockSize: blockSize!,
    headDim,
  }
  return { buffer, dtype, scaling: 'none', offset: 0, ...sizes }
}

function codedCache(name: string, argument: CodedKvCache): NativeKvCache {
  const { buffer, ...shape } = readOptions(argument, cacheNames, name)
  requireObject(`${name}.buffer`, buffer)
  const scaling = scalingOf(name, shape)
  if (buffer.dtype !== 'u8') {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `${name}.buffer is ${show(buffer.dtype)}: a cache of ${shape.dtype} lies in a buffer of u8`,
    )
  }
  return { ...shape, buffer: buffer.handle, scaling, offset: 0 }
}

/** The buffer of a cache, for what concerns its memory alone. */
export function cacheBuffer(name: string, cache: KvCacheArgument): DeviceBuffer<FloatDType> {
  requireObject(name, cache)
  if (!isCoded(cache)) return cache
  const buffer: unknown = reading(name, () => cache.buffer)
  requireObject(`${name}.buffer`, buffer)
  return buffer as DeviceBuffer<FloatDType>
}
