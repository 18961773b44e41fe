/** Tensors on a device for one case, with poison wherever an op has no business. */
import { decode, encode, arrayTypes } from '../../lib/ops/dtype.js'
import type { FloatDType } from '../../lib/ops/dtype.js'
import type { Device, DeviceBuffer, HeadsView, MatrixView } from '../../lib/ops/index.js'

/** A tensor whose rows lie `gap` elements apart, with NaN before, between and after them. */
export interface Placed<View> {
  view: View
  /** The rows, packed. Throws when anything outside them was written. */
  read(): Float32Array
}

/** All ones: NaN in every float dtype. */
const poisonByte = 255

/** Takes tensors on a device and gives them all back. */
export class Scope implements Disposable {
  readonly device: Device
  readonly #buffers: DeviceBuffer[] = []

  constructor(device: Device) {
    this.device = device
  }

  /** `values` null: an output, poison throughout. */
  matrix(
    dtype: FloatDType,
    rows: number,
    columns: number,
    values: ArrayLike<number> | null,
    gap = 3,
    start = gap,
  ): Placed<MatrixView> {
    const rowsPlaced = this.#rows(dtype, rows, columns, values, gap, start)
    const { buffer, offset, stride, read } = rowsPlaced
    return { view: { buffer, offset, rows, columns, stride }, read }
  }

  heads(
    dtype: FloatDType,
    shape: { tokens: number; heads: number; dim: number },
    values: ArrayLike<number> | null,
    gap = 3,
  ): Placed<HeadsView> {
    const placed = this.#rows(dtype, shape.tokens, shape.heads * shape.dim, values, gap)
    const { buffer, offset, stride, read } = placed
    return { view: { buffer, offset, ...shape, tokenStride: stride }, read }
  }

  vector(dtype: FloatDType, values: ArrayLike<number>): DeviceBuffer<FloatDType> {
    return this.buffer(dtype, [values.length], values)
  }

  buffer(
    dtype: FloatDType,
    shape: readonly number[],
    values: ArrayLike<number>,
  ): DeviceBuffer<FloatDType> {
    const buffer: DeviceBuffer<FloatDType> = this.device.buffer(dtype, shape)
    this.#buffers.push(buffer)
    buffer.write(encode(dtype, values))
    return buffer
  }

  fp32(shape: readonly number[], values: Float32Array): DeviceBuffer<'fp32'> {
    const buffer = this.device.buffer('fp32', shape)
    this.#buffers.push(buffer)
    buffer.write(values)
    return buffer
  }

  bytes(shape: readonly number[]): DeviceBuffer<'u8'> {
    const buffer = this.device.buffer('u8', shape)
    this.#buffers.push(buffer)
    return buffer
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers) buffer.dispose()
  }

  #rows(
    dtype: FloatDType,
    rows: number,
    columns: number,
    values: ArrayLike<number> | null,
    gap: number,
    offset = gap,
  ) {
    const stride = columns + gap
    const host = new arrayTypes[dtype](offset + rows * stride)
    new Uint8Array(host.buffer).fill(poisonByte)
    if (values) {
      const encoded = encode(dtype, values)
      for (let r = 0; r < rows; r++) {
        host.set(encoded.subarray(r * columns, (r + 1) * columns), offset + r * stride)
      }
    }
    const buffer: DeviceBuffer<FloatDType> = this.device.buffer(dtype, host.length)
    this.#buffers.push(buffer)
    buffer.write(host)
    const read = (): Float32Array => unplace(dtype, buffer.read(), offset, stride, rows, columns)
    return { buffer, offset, stride, read }
  }
}

function unplace(
  dtype: FloatDType,
  array: Float32Array | Uint16Array,
  offset: number,
  stride: number,
  rows: number,
  columns: number,
): Float32Array {
  const packed = new Float32Array(rows * columns)
  for (let r = 0; r < rows; r++) {
    const row = array.subarray(offset + r * stride, offset + r * stride + columns)
    packed.set(decode(dtype, row), r * columns)
    new Uint8Array(row.buffer, row.byteOffset, row.byteLength).fill(poisonByte)
  }
  const touched = new Uint8Array(array.buffer).findIndex((byte) => byte !== poisonByte)
  if (touched >= 0) throw new Error(`byte ${touched} lies outside the rows and was written`)
  return packed
}
