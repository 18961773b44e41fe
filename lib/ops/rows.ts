/**
 * Ops on rows. Shapes are checked; a mismatch throws OCTAVO_INVALID_ARGUMENT with both numbers, and so does an
 * output that shares memory with an input, unless the op says that it may be it.
 */
import { requireApart } from './aliasing.js'
import type { DeviceBuffer } from './buffer.js'
import type { FloatDType } from './dtype.js'
import { int32s } from './indices.js'
import type { Int32s } from './indices.js'
import { callOps } from './load.js'
import { deviceOf, nativeHeads, nativeMatrix, nativeVector } from './shape.js'
import type { HeadsArgument, MatrixArgument } from './shape.js'

/** Numbers of any float type. */
export type FloatBuffer = DeviceBuffer<FloatDType>

/** `out[i] = from[i]`, converted, rounded to nearest even. Both whole, without gaps between rows. */
export function convert(out: MatrixArgument, from: MatrixArgument): void {
  const call = { out: nativeMatrix('out', out), from: nativeMatrix('from', from) }
  requireApart({ out, from })
  callOps((ops) => ops.convert(deviceOf('out', out), call))
}

/** `out[t] = table[tokens[t]]`; an id outside the table gives a row of zeros. */
export function embedding(out: MatrixArgument, tokens: Int32s, table: MatrixArgument): void {
  const call = {
    out: nativeMatrix('out', out),
    tokens: int32s('tokens', tokens),
    table: nativeMatrix('table', table),
  }
  requireApart({ out, table })
  callOps((ops) => ops.embedding(deviceOf('out', out), call))
}

/** `out[r] = from[rows[r]]`. */
export function gatherRows(out: MatrixArgument, from: MatrixArgument, rows: Int32s): void {
  const call = {
    out: nativeMatrix('out', out),
    from: nativeMatrix('from', from),
    rows: int32s('rows', rows),
  }
  requireApart({ out, from })
  callOps((ops) => ops.gatherRows(deviceOf('out', out), call))
}

/** `out = x / sqrt(mean(x²) + epsilon) · weight` over columns; `out` may be `x`. */
export function rmsNorm(
  out: MatrixArgument,
  x: MatrixArgument,
  weight: FloatBuffer,
  epsilon: number,
): void {
  const call = {
    out: nativeMatrix('out', out),
    x: nativeMatrix('x', x),
    weight: nativeVector('weight', weight),
    epsilon,
  }
  requireApart({ out, x, weight }, 'x')
  callOps((ops) => ops.rmsNorm(deviceOf('out', out), call))
}

/** `residual += x`, then `out = rmsNorm(residual)` of the rounded residual; `out` may be `x`. */
export function addRmsNorm(
  out: MatrixArgument,
  residual: MatrixArgument,
  x: MatrixArgument,
  weight: FloatBuffer,
  epsilon: number,
): void {
  const call = {
    out: nativeMatrix('out', out),
    residual: nativeMatrix('residual', residual),
    x: nativeMatrix('x', x),
    weight: nativeVector('weight', weight),
    epsilon,
  }
  requireApart({ out, residual, x, weight }, 'x')
  requireApart({ residual, x, weight })
  callOps((ops) => ops.addRmsNorm(deviceOf('out', out), call))
}

/** `y += x`. */
export function add(y: MatrixArgument, x: MatrixArgument): void {
  const call = { y: nativeMatrix('y', y), x: nativeMatrix('x', x) }
  requireApart({ y, x })
  callOps((ops) => ops.add(deviceOf('y', y), call))
}

/** RMSNorm over the dim of every head, in place; `weight` has `dim` elements. */
export function headNorm(heads: HeadsArgument, weight: FloatBuffer, epsilon: number): void {
  const call = {
    heads: nativeHeads('heads', heads),
    weight: nativeVector('weight', weight),
    epsilon,
  }
  requireApart({ heads, weight })
  callOps((ops) => ops.headNorm(deviceOf('heads', heads), call))
}

/**
 * `out[m, n] = Σ_k x[m, k] · weight[n, k] + bias[n]`: x is `[M, K]`, weight `[N, K]` as checkpoints store
 * it, bias `[N]`, out `[M, N]` of any float dtype.
 */
export function linear(
  out: MatrixArgument,
  x: MatrixArgument,
  weight: MatrixArgument,
  bias?: FloatBuffer,
): void {
  const call = {
    out: nativeMatrix('out', out),
    x: nativeMatrix('x', x),
    weight: nativeMatrix('weight', weight),
    bias: bias === undefined ? null : nativeVector('bias', bias),
  }
  requireApart({ out, x, weight, bias })
  callOps((ops) => ops.linear(deviceOf('out', out), call))
}

/** `out[r, i] = silu(gateUp[r, i]) · gateUp[r, columns + i]`; gateUp has `2 · columns` columns. */
export function swiglu(out: MatrixArgument, gateUp: MatrixArgument): void {
  const call = { out: nativeMatrix('out', out), gateUp: nativeMatrix('gateUp', gateUp) }
  requireApart({ out, gateUp })
  callOps((ops) => ops.swiglu(deviceOf('out', out), call))
}
