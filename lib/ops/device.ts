/** A device opened for the low-level SDK. */
import '../polyfill.js'
import { OctavoError } from '../errors.js'
import { creationStack, unwatch, watch } from '../runtime/leaks.js'
import type { DeviceInfo } from '../devices.js'
import type { NativeLedgerLine } from '../native.js'
import { DeviceBuffer } from './buffer.js'
import { callOps } from './load.js'
import { made, requireMade } from './made.js'
import { readOptions } from './options.js'
import type { ArrayOf, DType } from './dtype.js'
import type { NativeMemoryUse, NativeWorkspace } from './native.js'
import type { Shape } from './shape.js'

/** How a device is opened. */
export interface DeviceOptions {
  /** Threads of the CPU device; 0, the default, is every core this process may use. */
  threads?: number
}

/** What `write` took may be less than the buffer; the rest would be undefined. */
function requireFull({ length, shape }: DeviceBuffer, values: ArrayLike<unknown>): void {
  if (values.length === length) return
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `there are ${values.length} values for the ${length} elements of shape [${shape.join(', ')}]: give one each`,
  )
}

/**
 * A device and the memory taken on it. Its buffers are disposed with it. Work is stream-ordered: calls
 * return when it is enqueued, reading a buffer waits for it.
 *
 * @example
 * ```ts
 * import { Device, linear } from 'octavo/ops'
 * using device = Device.open('cpu')
 * const x = device.from('fp32', [1, 2], [3, 4])
 * const weight = device.from('fp32', [2, 2], [1, 0, 1, 1])
 * const out = device.buffer('fp32', [1, 2])
 * linear(out, x, weight)
 * console.log(out.read()) // Float32Array [ 3, 7 ]
 * ```
 */
export class Device implements Disposable {
  /** The addon's handle; meaningless after dispose. */
  readonly handle: number
  /** What the device says of itself. */
  readonly info: DeviceInfo

  private constructor(key: symbol, handle: number, info: DeviceInfo) {
    requireMade(key, 'Device', 'Device.open(id)')
    this.handle = handle
    this.info = info
    watch(this, {
      what: 'a Device',
      stack: creationStack(),
      release: () => callOps((ops) => ops.close({ device: handle })),
    })
  }

  /**
   * Opens `cpu`, `cuda`, `cuda:N` or `auto` (the first CUDA device whose kernels run, else the CPU).
   * Throws OCTAVO_INVALID_ARGUMENT, OCTAVO_NO_CUDA_BUILD, OCTAVO_NO_DRIVER, OCTAVO_NO_DEVICE,
   * OCTAVO_KERNELS_UNAVAILABLE, OCTAVO_NATIVE_MISSING.
   */
  static open(id = 'auto', options?: DeviceOptions): Device {
    const { threads = 0 } = readOptions(options, { threads: true })
    const handle = callOps((ops) => ops.open({ id, threads }))
    return new Device(
      made,
      handle,
      callOps((ops) => ops.deviceInfo({ device: handle })),
    )
  }

  /**
   * Memory for `shape` elements of `dtype`, contents undefined. `tag` names it in the ledger.
   * Throws OCTAVO_OUT_OF_MEMORY, OCTAVO_INVALID_ARGUMENT, OCTAVO_DISPOSED.
   */
  buffer<D extends DType>(dtype: D, shape: Shape | number, tag = 'ops.buffer'): DeviceBuffer<D> {
    return DeviceBuffer.create(this, dtype, typeof shape === 'number' ? [shape] : shape, tag)
  }

  /**
   * A buffer that holds `values`, one for each element: numbers are rounded to a float dtype, a typed array of the
   * dtype is copied. Throws what `buffer` and `write` throw.
   */
  from<D extends DType>(
    dtype: D,
    shape: Shape | number,
    values: ArrayOf[D] | readonly number[],
  ): DeviceBuffer<D> {
    const buffer = this.buffer(dtype, shape)
    try {
      buffer.write(values)
      requireFull(buffer, values)
    } catch (error) {
      buffer.dispose()
      throw error
    }
    return buffer
  }

  /**
   * Bytes now, as the driver reports them. On the CPU free and total are the operating system's or the cgroup's;
   * `processBytes` is octavo's own counter of what it handed out there, not the operating system's figure.
   */
  memoryUse(): NativeMemoryUse {
    return callOps((ops) => ops.deviceMemoryUse({ device: this.handle }))
  }

  /**
   * What the cache behind the buffers counts, under PyTorch's names, and how fragmented it is. Disposed buffers'
   * memory is kept for the next ones, and given back with the last buffer.
   */
  workspace(): NativeWorkspace {
    return callOps((ops) => ops.deviceWorkspace({ device: this.handle }))
  }

  /**
   * Every allocation of this device: region, owner, tag, bytes; `workspace.cached` is what the cache keeps. Empty when
   * there is no buffer.
   */
  ledger(): NativeLedgerLine[] {
    return callOps((ops) => ops.deviceLedger({ device: this.handle }))
  }

  /** Waits for all work; throws OCTAVO_DEVICE_FAILED if any of it failed. */
  synchronize(): void {
    callOps((ops) => ops.synchronize({ device: this.handle }))
  }

  /** Releases the device and every buffer on it. Idempotent. */
  dispose(): void {
    unwatch(this)
    callOps((ops) => ops.close({ device: this.handle }))
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
