/** Shapes of buffers and views of them, checked before the addon sees them. */
import { OctavoError } from '../errors.js'
import { invalid, isArray, reading, show } from '../options/reader.js'
import { readOptions } from './options.js'
import type { FloatDType } from './dtype.js'
import type { DeviceBuffer } from './buffer.js'
import type { NativeHeads, NativeLatentCache, NativeMatrix, NativeVector } from './native.js'

/** Sizes in elements, outermost first. */
export type Shape = readonly number[]

/** A matrix inside a buffer: row r starts at element `offset + r * stride`. */
export interface MatrixView {
  buffer: DeviceBuffer<FloatDType>
  /** default 0 */
  offset?: number
  rows: number
  columns: number
  /** default `columns` */
  stride?: number
}

/** `[tokens, heads, dim]` inside a buffer: token t starts at element `offset + t * tokenStride`. */
export interface HeadsView {
  buffer: DeviceBuffer<FloatDType>
  /** default 0 */
  offset?: number
  tokens: number
  heads: number
  dim: number
  /** default `heads * dim` */
  tokenStride?: number
}

/** A buffer of shape `[…, columns]` (its leading sizes are the rows), or a view of one. */
export type MatrixArgument = DeviceBuffer<FloatDType> | MatrixView

/** A buffer of shape `[tokens, heads, dim]`, or a view of one. */
export type HeadsArgument = DeviceBuffer<FloatDType> | HeadsView

const matrixNames: Record<keyof MatrixView, true> = {
  buffer: true,
  offset: true,
  rows: true,
  columns: true,
  stride: true,
}
const headsNames: Record<keyof HeadsView, true> = {
  buffer: true,
  offset: true,
  tokens: true,
  heads: true,
  dim: true,
  tokenStride: true,
}

/** Elements of a shape. Throws OCTAVO_INVALID_ARGUMENT unless every size is a positive integer. */
export function elementsOf(shape: Shape): number {
  if (!isArray(shape)) throw invalid('the shape', shape, 'a number or an array of numbers')
  const sizes = reading('the shape', () => Array.from(shape as Shape))
  const sentence = (): string => `the shape is [${sizes.map(show).join(', ')}]: `
  if (sizes.length === 0 || !sizes.every((size) => Number.isSafeInteger(size) && size > 0)) {
    throw new OctavoError('OCTAVO_INVALID_ARGUMENT', `${sentence()}expected positive integers`)
  }
  const elements = sizes.reduce((product, size) => product * size, 1)
  if (Number.isSafeInteger(elements)) return elements
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${sentence()}their product, ${elements} elements, is too large; it must be below 2^53`,
  )
}

export function isBuffer(argument: object): argument is DeviceBuffer<FloatDType> {
  return reading('a buffer or view', () => 'shape' in argument)
}

export function requireObject(name: string, argument: unknown): asserts argument is object {
  if (typeof argument === 'object' && argument !== null) return
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name} is ${show(argument)}: expected a DeviceBuffer or a view of one`,
  )
}

/** The shape of what has one; a view has none. */
export function shapeOf(name: string, argument: DeviceBuffer<FloatDType>): Shape {
  const shape: unknown = reading(`${name}.shape`, () => argument.shape)
  if (isArray(shape) && shape.length > 0) return shape as number[]
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name}.shape is ${show(shape)}: expected a DeviceBuffer or a view of one`,
  )
}

/** Throws OCTAVO_INVALID_ARGUMENT for what is no device. */
export function requireDevice(device: unknown): void {
  const isDevice =
    typeof device === 'object' &&
    device !== null &&
    reading('the device', () => typeof (device as { handle?: unknown }).handle === 'number')
  if (!isDevice) throw invalid('the device', device, 'a Device, which Device.open gives')
}

function bufferOf(name: string, view: { buffer: unknown }): DeviceBuffer<FloatDType> {
  requireObject(`${name}.buffer`, view.buffer)
  return view.buffer as DeviceBuffer<FloatDType>
}

/** The addon's form of a matrix argument. */
export function nativeMatrix(name: string, argument: MatrixArgument): NativeMatrix {
  requireObject(name, argument)
  return reading(name, () => {
    if (isBuffer(argument)) {
      const columns = shapeOf(name, argument).at(-1)!
      const rows = argument.length / columns
      const { handle: buffer, dtype } = argument
      return { buffer, dtype, offset: 0, rows, columns, stride: columns }
    }
    const { handle: buffer, dtype } = bufferOf(name, argument)
    readOptions(argument, matrixNames, name)
    const { offset = 0, rows, columns, stride = columns } = argument
    return { buffer, dtype, offset, rows, columns, stride }
  })
}

/** The addon's form of a vector argument: a whole buffer, whatever its shape. */
export function nativeVector(name: string, argument: DeviceBuffer<FloatDType>): NativeVector {
  requireObject(name, argument)
  return reading(name, () => {
    const { handle: buffer, dtype, length: size } = argument
    return { buffer, dtype, offset: 0, size }
  })
}

/** The addon's form of a heads argument. */
export function nativeHeads(name: string, argument: HeadsArgument): NativeHeads {
  requireObject(name, argument)
  return reading(name, () => headsOf(name, argument))
}

function headsOf(name: string, argument: HeadsArgument): NativeHeads {
  if (!isBuffer(argument)) {
    const { handle: buffer, dtype } = bufferOf(name, argument)
    readOptions(argument, headsNames, name)
    const { offset = 0, tokens, heads, dim, tokenStride = heads * dim } = argument
    return { buffer, dtype, offset, tokens, heads, dim, tokenStride }
  }
  const [tokens, heads, dim, ...rest] = shapeOf(name, argument)
  if (tokens === undefined || heads === undefined || dim === undefined || rest.length > 0) {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `${name} has shape [${argument.shape.join(', ')}]: expected [tokens, heads, dim]`,
    )
  }
  const { handle: buffer, dtype } = argument
  return { buffer, dtype, offset: 0, tokens, heads, dim, tokenStride: heads * dim }
}

/** The addon's form of a paged cache of latents: a buffer of shape `[blocks, layers, blockSize, width]`. */
export function nativeLatentCache(
  name: string,
  argument: DeviceBuffer<FloatDType>,
): NativeLatentCache {
  requireObject(name, argument)
  return reading(name, () => latentCacheOf(name, argument))
}

function latentCacheOf(name: string, argument: DeviceBuffer<FloatDType>): NativeLatentCache {
  const [blocks, layers, blockSize, width, ...rest] = shapeOf(name, argument)
  if (width === undefined || rest.length > 0) {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `${name} has shape [${argument.shape.join(', ')}]: expected [blocks, layers, blockSize, width]`,
    )
  }
  const { handle: buffer, dtype } = argument
  const sizes = { blocks: blocks!, layers: layers!, blockSize: blockSize!, width }
  return { buffer, dtype, offset: 0, ...sizes }
}

/** The handle of the device an argument lies on. */
export function deviceOf(name: string, argument: MatrixArgument | HeadsArgument): number {
  requireObject(name, argument)
  return reading(name, () => {
    const { device } = isBuffer(argument) ? argument : bufferOf(name, argument)
    requireObject(`${name}.device`, device)
    return device.handle
  })
}
