/** Memory on a device, typed and disposable. */
import '../polyfill.js'
import { OctavoError } from '../errors.js'
import { isArray, reading } from '../options/reader.js'
import { creationStack, unwatch, watch } from '../runtime/leaks.js'
import { arrayTypes, bytesOf, decode, encode, requireDType } from './dtype.js'
import type { ArrayOf, DType, FloatDType } from './dtype.js'
import type { Device } from './device.js'
import { uint8s, float32s, int32s } from './indices.js'
import { callOps } from './load.js'
import { made, requireMade } from './made.js'
import { elementsOf, requireDevice } from './shape.js'
import type { Shape } from './shape.js'

function isFloat(dtype: DType): dtype is FloatDType {
  return dtype === 'fp32' || dtype === 'bf16' || dtype === 'fp16'
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array

/** Its bytes, unless they were transferred to another thread, or the memory shrank under it. */
function bytesInside(array: ArrayBufferView): Uint8Array {
  try {
    typedArray.keys.call(array) // throws where the array has lost its memory, and only looks empty
    return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
  } catch (cause) {
    const problem =
      'the array of values is detached or out of bounds: its memory was transferred away or made smaller'
    throw new OctavoError('OCTAVO_INVALID_ARGUMENT', problem, { cause })
  }
}

/** `[elements]` of one dtype on a device. Contents are undefined until written. */
export class DeviceBuffer<D extends DType = DType> implements Disposable {
  /** The addon's handle; meaningless after dispose. */
  readonly handle: number
  /** Keeps the device, which owns the memory, from being collected while a buffer is in use. */
  readonly device: Device
  readonly dtype: D
  readonly shape: Shape
  /** Elements. */
  readonly length: number

  private constructor(key: symbol, handle: number, device: Device, dtype: D, shape: Shape) {
    requireMade(key, 'DeviceBuffer', 'device.buffer(dtype, shape)')
    this.handle = handle
    this.device = device
    this.dtype = dtype
    this.shape = [...shape]
    this.length = elementsOf(shape)
    watch(this, {
      what: 'a DeviceBuffer',
      stack: creationStack(),
      release: () => callOps((ops) => ops.destroyBuffer({ buffer: handle })),
    })
  }

  /** See {@link Device.buffer}. */
  static create<D extends DType>(
    device: Device,
    dtype: D,
    shape: Shape,
    tag: string,
  ): DeviceBuffer<D> {
    requireDevice(device)
    requireDType(dtype)
    const bytes = elementsOf(shape) * bytesOf(dtype)
    const handle = callOps((ops) => ops.createBuffer({ device: device.handle, bytes, tag }))
    return new DeviceBuffer(made, handle, device, dtype, shape)
  }

  /** Bytes asked for; the allocator may hold a few more. */
  get bytes(): number {
    return this.length * bytesOf(this.dtype)
  }

  /**
   * Copies `values` to the buffer from element `offset` on, and waits. Plain numbers are rounded to a
   * float dtype; a typed array must be the dtype's own. Throws OCTAVO_INVALID_ARGUMENT, OCTAVO_DISPOSED.
   */
  write(values: ArrayOf[D] | readonly number[], offset = 0): void {
    const array = this.#arrayOf(values)
    this.#requireInside(offset, array.length)
    const bytes = bytesInside(array)
    callOps((ops) =>
      ops.writeBuffer({ buffer: this.handle, offset: offset * bytesOf(this.dtype), bytes }),
    )
  }

  /** Waits for the device, then copies elements [offset, offset + length) out. */
  read(offset = 0, length: number = this.length - offset): ArrayOf[D] {
    this.#requireInside(offset, length)
    const array = new arrayTypes[this.dtype](length)
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
    callOps((ops) =>
      ops.readBuffer({ buffer: this.handle, offset: offset * bytesOf(this.dtype), bytes }),
    )
    return array
  }

  /** The contents as numbers, for a float dtype. */
  readNumbers(this: DeviceBuffer<FloatDType>): Float32Array {
    return decode(this.dtype, this.read())
  }

  /** Sets every byte to `value`, 0 to 255: 0 is zero in every dtype, 255 is NaN in every float one. */
  fillBytes(value: number): void {
    callOps((ops) => ops.fillBuffer({ buffer: this.handle, offset: 0, count: this.bytes, value }))
  }

  /** Gives the memory back, after the work that uses it. Idempotent. */
  dispose(): void {
    unwatch(this)
    callOps((ops) => ops.destroyBuffer({ buffer: this.handle }))
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  #requireInside(offset: number, length: number): void {
    const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(length)
    if (whole && offset >= 0 && length >= 0 && offset + length <= this.length) return
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `${length} elements from ${offset} on do not lie in a buffer of ${this.length}`,
    )
  }

  #arrayOf(values: ArrayOf[D] | readonly number[]): ArrayOf[D] {
    const type = arrayTypes[this.dtype] as unknown as { new (length: number): ArrayOf[D] }
    if (reading('values', () => values instanceof type)) return values as ArrayOf[D]
    if (isArray(values)) {
      const numbers = values as readonly number[]
      if (isFloat(this.dtype)) return encode(this.dtype, float32s('values', numbers))
      if (this.dtype === 'u8') return uint8s('values', numbers) as ArrayOf[D]
      if (this.dtype === 'i32') return int32s('values', numbers) as ArrayOf[D]
    }
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `a ${this.dtype} buffer is written from a ${type.name}` +
        (this.dtype === 'i64' ? '' : ' or an array of numbers'),
    )
  }
}
