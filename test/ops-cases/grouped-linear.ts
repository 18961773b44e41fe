/** Cases of `groupedLinear`, for any device. */
import { groupedLinear, QuantizedWeight } from '../../lib/ops/index.js'
import type { FloatDType } from '../../lib/ops/index.js'
import { lazyCase, unit } from './compare.js'
import type { OpCase } from './compare.js'
import { quantizedInput } from './quantized-linear.js'
import { makeWeight, weightName } from './quantized.js'
import type { WeightCase } from './quantized.js'
import * as reference from './reference-rows.js'
import { Scope } from './scope.js'

interface Batch {
  /** Of each expert. */
  rows: readonly number[]
  /** Rows of no expert before each expert's. */
  between: number
  x: FloatDType
  out: FloatDType
  gap: number
}

/** What lies in rows of no expert before the op and must lie there after it. */
const untouched = 123

function firstRows({ rows, between }: Batch): number[] {
  let at = 0
  return rows.map((count) => {
    const first = at + between
    at = first + count
    return first
  })
}

function groupedCase(one: WeightCase, batch: Batch, rounds: boolean): OpCase {
  const experts = batch.rows.length
  const [stacked, k] = one.shape
  const n = stacked / experts
  const first = firstRows(batch)
  const total = first[experts - 1]! + batch.rows[experts - 1]! + batch.between
  const name = `${batch.rows.join(', ')} rows of ${batch.x} → ${batch.out}, ${batch.between} between, gap ${batch.gap}`
  return lazyCase(`${name} · ${weightName(one)}`, (random) => {
    const { stored, numbers } = makeWeight(one, random)
    const inputs = random.values(total * k, batch.x)
    const used = one.activations ? quantizedInput(inputs, k, one.codeType, one.activations) : inputs
    const products = (of: Float32Array, by: Float32Array, elsewhere: number): Float64Array => {
      const out = new Float64Array(total * n).fill(elsewhere)
      batch.rows.forEach((count, e) => {
        const x = of.subarray(first[e]! * k, (first[e]! + count) * k)
        const weight = by.subarray(e * n * k, (e + 1) * n * k)
        out.set(reference.linear(x, weight, null, [count, n, k]), first[e]! * n)
      })
      return out
    }
    const sizes = products(used.map(Math.abs), numbers.map(Math.abs), 0)
    const most = sizes.reduce((a, b) => Math.max(a, b), 0)
    const codes = one.activations && one.codeType === 'e4m3' ? 2 ** -11 : 0
    const rounding = rounds ? Math.max(codes, batch.x === 'fp32' ? 0 : 2 * unit[batch.x]) : 0
    return {
      run(device) {
        using scope = new Scope(device)
        using weight = QuantizedWeight.upload(device, stored)
        const before = new Float32Array(total * n).fill(untouched)
        const placed = scope.matrix(batch.out, total, n, before, batch.gap)
        const left = scope.matrix(batch.x, total, k, inputs, batch.gap)
        groupedLinear(placed.view, left.view, weight, { first, rows: [...batch.rows] })
        return { out: placed.read() }
      },
      reference: () => ({ out: products(used, numbers, untouched) }),
      tolerance: {
        relative: unit[batch.out] + 2 ** -21,
        absolute: most * (rounding + 2 ** -21),
      },
    }
  })
}

/** Of five experts, N and K of one. */
const stackOf = (n: number, k: number): WeightCase => ({
  layout: 'rows',
  codeType: 'e4m3',
  shape: [5 * n, k],
  groupRows: 128,
  groupColumns: 128,
  scaleType: 'fp32',
  activations: { scaling: 'group', group: 128 },
})

/** Of five experts, codes of which kernels for tiles take the rows: N is a multiple of 16. */
const tiledStack = (
  codeType: 'u2' | 'u3' | 'u4' | 'u8',
  n: number,
  k: number,
  groupColumns: number,
): WeightCase => ({
  ...{ layout: 'rows', codeType, shape: [5 * n, k], groupColumns, scaleType: 'bf16' },
  zeros: groupColumns !== 64,
})

const one = [0, 0, 1, 0, 0]
const few = [3, 0, 17, 1, 5]
const more = [65, 1, 130, 0, 66]
const many = [300, 0, 257, 64, 200]

/** Ragged rows, experts without any, every tile, and codes that no fast kernel covers. */
export function groupedLinearCases(rounds: boolean): OpCase[] {
  const batches = [
    [stackOf(128, 384), { rows: few, between: 0, x: 'bf16', out: 'bf16', gap: 0 }],
    [stackOf(256, 200), { rows: few, between: 3, x: 'fp16', out: 'fp32', gap: 3 }],
    [stackOf(128, 515), { rows: more, between: 1, x: 'bf16', out: 'bf16', gap: 8 }],
    [stackOf(256, 256), { rows: many, between: 0, x: 'bf16', out: 'bf16', gap: 0 }],
    [stackOf(128, 160), { rows: many, between: 2, x: 'fp32', out: 'fp16', gap: 1 }],
    [
      { layout: 'gptq', codeType: 'u4', shape: [160, 64], groupColumns: 32, scaleType: 'fp16' },
      { rows: few, between: 1, x: 'fp32', out: 'fp32', gap: 3 },
    ],
    [
      {
        ...{ layout: 'rows', codeType: 'i8', shape: [35, 203], scaleType: 'bf16' },
        activations: { scaling: 'token' },
      },
      { rows: few, between: 0, x: 'bf16', out: 'bf16', gap: 0 },
    ],
    [tiledStack('u4', 48, 320, 32), { rows: one, between: 0, x: 'bf16', out: 'bf16', gap: 0 }],
    [tiledStack('u4', 336, 768, 128), { rows: few, between: 1, x: 'bf16', out: 'fp32', gap: 8 }],
    [tiledStack('u3', 160, 200, 64), { rows: few, between: 0, x: 'fp16', out: 'fp16', gap: 0 }],
    [tiledStack('u2', 16, 1100, 64), { rows: few, between: 3, x: 'bf16', out: 'bf16', gap: 8 }],
    [tiledStack('u8', 80, 456, 128), { rows: more, between: 0, x: 'bf16', out: 'bf16', gap: 0 }],
    [tiledStack('u4', 40, 128, 64), { rows: few, between: 0, x: 'bf16', out: 'bf16', gap: 0 }],
    [
      { ...tiledStack('u4', 64, 256, 32), layout: 'gptq', scaleType: 'fp16', actOrder: true },
      { rows: few, between: 1, x: 'bf16', out: 'bf16', gap: 3 },
    ],
  ] as const satisfies readonly (readonly [WeightCase, Batch])[]
  return batches.map(([one, batch]) => groupedCase(one, batch, rounds))
}
