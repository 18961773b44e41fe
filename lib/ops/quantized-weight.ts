/** Weights of codes and scales on a device, uploaded from the layouts that checkpoints have. */
import '../polyfill.js'
import type { CodeType } from '../code-type.js'
import type { DeviceBuffer } from './buffer.js'
import type { Device } from './device.js'
import { bytesOf } from './dtype.js'
import type { DType } from './dtype.js'
import { callOps } from './load.js'
import { made, requireMade } from './made.js'
import type { NativeQuantizedWeight, NativeRepack } from './native.js'
import { requireDevice } from './shape.js'
import { ceilDivide, groupIndexOf, planOf } from './stored-weight.js'
import type { StoredWeight, WeightPlan } from './stored-weight.js'

/** Bytes from row to row of codes on the device: QuantizedMatrix::strideOf. */
const strideOf = (codeType: CodeType, bits: number, columns: number): number => {
  const step = codeType.startsWith('u') ? 8 * bits : 16
  return ceilDivide(ceilDivide(columns * bits, 8), step) * step
}

/** Rows for which there is memory on the device: QuantizedMatrix::paddedRows. */
const paddedRows = (codeType: CodeType, rows: number): number =>
  codeType.startsWith('u') ? ceilDivide(rows, 64) * 64 : rows

/**
 * A weight [rows, columns] of codes and scales, in the one layout that kernels read. Its numbers are
 * `(code − zero) · scale`; see {@link dequantize}.
 *
 * @example
 * ```ts
 * import { Device, dequantize, QuantizedWeight } from 'octavo/ops'
 * using device = Device.open('cpu')
 * const codes = Uint32Array.of(0x76543210) // eight codes of four bits, the first lowest
 * using weight = QuantizedWeight.upload(device, {
 *   layout: 'rows', codeType: 'u4', rows: 1, columns: 8, codes, scaleType: 'fp32', scales: Float32Array.of(0.5),
 * })
 * const out = device.buffer('fp32', [1, 8])
 * dequantize(out, weight)
 * console.log(out.read()) // Float32Array(8) [ -4, -3.5, -3, -2.5, -2, -1.5, -1, -0.5 ]
 * ```
 */
export class QuantizedWeight implements Disposable {
  readonly device: Device
  readonly rows: number
  readonly columns: number
  /** @internal The addon's form of it. */
  readonly native: NativeQuantizedWeight
  readonly #buffers: readonly DeviceBuffer[]

  private constructor(
    key: symbol,
    device: Device,
    native: NativeQuantizedWeight,
    buffers: readonly DeviceBuffer[],
  ) {
    requireMade(key, 'QuantizedWeight', 'QuantizedWeight.upload(device, stored)')
    this.device = device
    this.rows = native.rows
    this.columns = native.columns
    this.native = native
    this.#buffers = buffers
  }

  /**
   * Copies a stored weight to the device and brings it into its layout there; meanwhile the stored form is held too.
   * Throws OCTAVO_INVALID_ARGUMENT (with both numbers), OCTAVO_UNKNOWN_OPTION, OCTAVO_OUT_OF_MEMORY.
   */
  static upload(device: Device, stored: StoredWeight): QuantizedWeight {
    requireDevice(device)
    const plan = planOf(stored)
    const index = groupIndexOf(plan)
    const kept: DeviceBuffer[] = []
    const passing: DeviceBuffer[] = []
    try {
      const take = <D extends DType>(dtype: D, count: number, tag: string): DeviceBuffer<D> => {
        const buffer = device.buffer(dtype, count, tag)
        kept.push(buffer)
        return buffer
      }
      const send = (values: ArrayBufferView): DeviceBuffer => {
        const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
        const buffer = device.from('u8', bytes.length, bytes)
        passing.push(buffer)
        return buffer
      }
      const native = uploadParts(device, plan, take, send)
      if (index !== null) {
        const buffer = take('i32', index.length, 'weight.groupIndex')
        buffer.write(index)
        native.groupIndex = buffer.handle
      }
      native.isArranged = callOps((ops) => ops.arrange(device.handle, { weight: native }))
      return new QuantizedWeight(made, device, native, kept)
    } catch (error) {
      for (const buffer of kept) buffer.dispose()
      throw error
    } finally {
      for (const buffer of passing) buffer.dispose()
    }
  }

  /** Gives the memory back, after the work that uses it. Idempotent. */
  dispose(): void {
    for (const buffer of this.#buffers) buffer.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

type Take = <D extends DType>(dtype: D, count: number, tag: string) => DeviceBuffer<D>
type Send = (values: ArrayBufferView) => DeviceBuffer

/** The handles of codes, scales and zeros, each repacked from what was sent. */
function uploadParts(
  device: Device,
  plan: WeightPlan,
  take: Take,
  send: Send,
): NativeQuantizedWeight {
  const { weight, bits, groups, scaleRows, isTransposed, isRepeated } = plan
  const { layout, codeType, rows, columns, scaleType, groupColumns, groupRows } = weight
  const scaleBytes = bytesOf(scaleType)
  const stride = strideOf(codeType, bits, columns)
  const storedRows = paddedRows(codeType, rows)
  const scaleCount = ceilDivide(storedRows, groupRows) * groups
  const repack = (call: Partial<NativeRepack> & Pick<NativeRepack, 'kind' | 'from' | 'to'>): void =>
    callOps((ops) =>
      ops.repack(device.handle, {
        ...{ firstRow: 0, rows: 1, columns: 1, width: 4, bits, zeroOffset: 0, count: rows, stride },
        ...call,
      }),
    )

  const codes = take('u8', storedRows * stride, 'weight.codes')
  const from = send(weight.codes)
  const target = { from: from.handle, to: codes.handle }
  if (layout === 'rows')
    repack({ ...target, kind: 'rows', rows, columns: from.length / rows, width: 1 })
  else if (layout === 'awq')
    repack({ ...target, kind: 'awqCodes', rows: columns, columns: rows / 8 })
  else repack({ ...target, kind: 'transpose', rows: (columns * bits) / 32, columns: rows })

  const scales = take(scaleType, scaleCount, 'weight.scales')
  const scaleCall = { from: send(weight.scales).handle, to: scales.handle, width: scaleBytes }
  const scaleStride = groups * scaleBytes
  if (isRepeated) repack({ ...scaleCall, kind: 'repeat', count: scaleRows, stride: scaleBytes })
  else if (isTransposed) {
    repack({ ...scaleCall, kind: 'transpose', rows: groups, columns: rows, stride: scaleStride })
  } else
    repack({ ...scaleCall, kind: 'rows', rows: scaleRows, columns: groups, stride: scaleStride })

  const native: NativeQuantizedWeight = {
    ...{ codeType, rows, columns, groupColumns, groupRows, scaleType },
    ...{ codes: codes.handle, scales: scales.handle, zeros: null, groupIndex: null },
    ...{ isArranged: false, activations: weight.activations ?? null },
  }
  if (!weight.zeros) return native
  const zeros = take('u8', scaleCount, 'weight.zeros')
  const zeroCall = { from: send(weight.zeros).handle, to: zeros.handle, stride: groups }
  const words = ceilDivide(rows * bits, 32)
  if (layout === 'awq') repack({ ...zeroCall, kind: 'awqZeros', rows: groups, columns: words })
  else if (isTransposed) {
    const zeroOffset = layout === 'gptq' ? 1 : 0
    repack({ ...zeroCall, kind: 'gptqZeros', rows: groups, columns: words, zeroOffset })
  } else {
    const rowsOfWords = ceilDivide(scaleRows * bits, 32)
    repack({
      ...zeroCall,
      kind: 'packedZeros',
      rows: rowsOfWords,
      columns: groups,
      count: scaleRows,
    })
  }
  return { ...native, zeros: zeros.handle }
}
