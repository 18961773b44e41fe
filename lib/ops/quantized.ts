/** Ops on weights of codes and scales. */
import { requireApart } from './aliasing.js'
import { callOps } from './load.js'
import { QuantizedWeight } from './quantized-weight.js'
import type { FloatBuffer } from './rows.js'
import { deviceOf, nativeMatrix, nativeVector } from './shape.js'
import type { MatrixArgument } from './shape.js'
import { OctavoError } from '../errors.js'
import { show } from '../options/reader.js'

function requireWeight(weight: unknown): asserts weight is QuantizedWeight {
  if (weight instanceof QuantizedWeight) return
  const problem = `weight is ${show(weight)}: expected a QuantizedWeight`
  throw new OctavoError('OCTAVO_INVALID_ARGUMENT', problem)
}

/**
 * `out[m, n] = Σ_k x[m, k] · weight[n, k] + bias[n]` with the numbers of a quantised weight; x is quantised first where
 * the weight says so. Products are summed in fp32.
 */
export function quantizedLinear(
  out: MatrixArgument,
  x: MatrixArgument,
  weight: QuantizedWeight,
  bias?: FloatBuffer,
): void {
  requireWeight(weight)
  const call = {
    out: nativeMatrix('out', out),
    x: nativeMatrix('x', x),
    weight: weight.native,
    bias: bias === undefined ? null : nativeVector('bias', bias),
  }
  requireApart({ out, x, bias })
  callOps((ops) => ops.quantizedLinear(deviceOf('out', out), call))
}

/** The numbers of a quantised weight, `(code − zero) · scale` in fp32, rounded to the dtype of `out`. */
export function dequantize(out: MatrixArgument, weight: QuantizedWeight): void {
  requireWeight(weight)
  const call = { out: nativeMatrix('out', out), weight: weight.native }
  callOps((ops) => ops.dequantize(deviceOf('out', out), call))
}
