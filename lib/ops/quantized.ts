/** Ops on weights of codes and scales. */
import { requireApart } from './aliasing.js'
import { int32s } from './indices.js'
import type { Int32s } from './indices.js'
import { callOps } from './load.js'
import { readOptions } from './options.js'
import { QuantizedWeight } from './quantized-weight.js'
import type { FloatBuffer } from './rows.js'
import { deviceOf, nativeMatrix, nativeVector } from './shape.js'
import type { MatrixArgument } from './shape.js'
import { OctavoError } from '../errors.js'
import { reading, show } from '../options/reader.js'

function requireWeight(weight: unknown): asserts weight is QuantizedWeight {
  if (reading('weight', () => weight instanceof QuantizedWeight)) return
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

/** Which rows of a batch belong to which expert: expert e has rows `first[e]` … `first[e] + rows[e] - 1`. */
export interface ExpertRows {
  /** Those of an expert lie behind those of the expert before. */
  first: Int32s
  /** 0 for an expert that has none. */
  rows: Int32s
}

/**
 * `quantizedLinear` for a mixture of experts: every expert's rows of x meet a weight of its own. `weight` is
 * `[experts · N, K]`, the experts' weights below each other, with N, the columns of `out`, a multiple of its `groupRows`.
 * Rows that no expert has are left as they are.
 */
export function groupedLinear(
  out: MatrixArgument,
  x: MatrixArgument,
  weight: QuantizedWeight,
  experts: ExpertRows,
): void {
  requireWeight(weight)
  const { first, rows } = readOptions(experts, { first: true, rows: true }, 'experts')
  const call = {
    out: nativeMatrix('out', out),
    x: nativeMatrix('x', x),
    weight: weight.native,
    first: int32s('experts.first', first),
    rows: int32s('experts.rows', rows),
  }
  requireApart({ out, x })
  callOps((ops) => ops.groupedLinear(deviceOf('out', out), call))
}

/** The numbers of a quantised weight, `(code − zero) · scale` in fp32, rounded to the dtype of `out`. */
export function dequantize(out: MatrixArgument, weight: QuantizedWeight): void {
  requireWeight(weight)
  const call = { out: nativeMatrix('out', out), weight: weight.native }
  callOps((ops) => ops.dequantize(deviceOf('out', out), call))
}
