/** A product with what stands before and behind it in a layer. */
import { requireApart } from './aliasing.js'
import { callOps } from './load.js'
import { readOptions } from './options.js'
import { QuantizedWeight } from './quantized-weight.js'
import type { FloatBuffer } from './rows.js'
import { deviceOf, nativeMatrix, nativeVector } from './shape.js'
import type { MatrixArgument } from './shape.js'
import { invalid, reading } from '../options/reader.js'

/** What stands before and behind the product of {@link fusedLinear}. */
export interface FusedLinearOptions {
  bias?: FloatBuffer
  /** The weight of an RMSNorm of x ahead of the product. Default: none. */
  norm?: FloatBuffer
  /** Of the norm, up to 1; default 1e-6. */
  epsilon?: number
  /**
   * What becomes of the product: `store` (default) `out = product`; `add` `out += product`; `swiglu`
   * `out = silu(gate) · up` of its first and second half of columns.
   */
  end?: 'store' | 'add' | 'swiglu'
}

const names: Record<keyof FusedLinearOptions, true> = {
  bias: true,
  norm: true,
  epsilon: true,
  end: true,
}

/**
 * `rmsNorm`, `linear` (or `quantizedLinear`), then `add` or `swiglu`, in one pass where the device has a kernel for it and
 * rows are few; the normed x and the product are rounded to the dtype of x on the way, as between the ops one by one.
 * `out` may not be `x`.
 */
export function fusedLinear(
  out: MatrixArgument,
  x: MatrixArgument,
  weight: MatrixArgument | QuantizedWeight,
  options: FusedLinearOptions = {},
): void {
  const { bias, norm, epsilon = 1e-6, end = 'store' } = readOptions(options, names)
  const isCoded = reading('weight', () => weight instanceof QuantizedWeight)
  const codes = isCoded ? (weight as QuantizedWeight) : null
  const dense = isCoded ? null : (weight as MatrixArgument)
  if (end !== 'store' && end !== 'add' && end !== 'swiglu')
    throw invalid('end', end, `'store', 'add' or 'swiglu'`)
  const vector = (name: string, given: FloatBuffer | undefined) =>
    given === undefined ? null : nativeVector(name, given)
  const call = {
    out: nativeMatrix('out', out),
    x: nativeMatrix('x', x),
    weight: dense === null ? null : nativeMatrix('weight', dense),
    codes: codes === null ? null : codes.native,
    bias: vector('bias', bias),
    norm: vector('norm', norm),
    epsilon,
    end,
  }
  requireApart({ out, x, ...(dense !== null && { weight: dense }), bias, norm })
  callOps((ops) => ops.fusedLinear(deviceOf('out', out), call))
}
