/** Cases of fusedLinear: the same product by the op, and by rmsNorm, linear and add or swiglu in turn. */
import {
  add,
  fusedLinear,
  linear,
  quantizedLinear,
  QuantizedWeight,
  rmsNorm,
  swiglu,
} from '../../lib/ops/index.js'
import type {
  Device,
  FloatDType,
  FusedLinearOptions,
  MatrixView,
  StoredWeight,
} from '../../lib/ops/index.js'
import { unit } from './compare.js'
import { makeWeight, weightName } from './quantized.js'
import type { WeightCase } from './quantized.js'
import { Random } from './random.js'
import { Scope } from './scope.js'

type End = NonNullable<FusedLinearOptions['end']>

interface FusedSetting {
  /** Rows of x, rows of the weight, columns of both. */
  shape: readonly [m: number, n: number, k: number]
  x: FloatDType
  weight: FloatDType | StoredWeight
  out: FloatDType
  end: End
  normed: boolean
  bias: FloatDType | null
  gap: number
}

export interface FusedCase {
  name: string
  fused(device: Device): Float32Array
  inTurn(device: Device): Float32Array
  /** What a device may differ from the CPU in an element: sums in another order, and what they round to. */
  tolerance: number
}

const isCoded = (weight: FusedSetting['weight']): weight is StoredWeight =>
  typeof weight !== 'string'

/** Sums of k products of numbers of size 1, or of `size`. */
function toleranceOf({ shape, x, out, end, normed }: FusedSetting, size: number): number {
  const sum = Math.sqrt(shape[2]) * size
  const flips = normed ? 8 * unit[x] * size : 0 // normed elements that are rounded to the other neighbour
  const rounds =
    Math.max(unit[out], end === 'store' ? 0 : unit[x]) * 4 * (end === 'swiglu' ? sum : 1)
  return sum * (2 ** -20 + 2 * rounds) + flips * (end === 'swiglu' ? 4 * sum : 1)
}

/** `size`: of the numbers of a coded weight, and `error` what a product of codes may err by in all. */
function fusedCase(setting: FusedSetting, size = 1, error = 0): FusedCase {
  const { shape, x, weight, out, end, normed, bias, gap } = setting
  const [m, n, k] = shape
  const kind = isCoded(weight) ? `${weight.codeType} codes` : weight
  const name =
    `${m}×${n}×${k} ${normed ? 'normed ' : ''}${x} · ${kind}${bias ? ` + ${bias}` : ''}, ` +
    `${end} → ${out}, gap ${gap}`

  function run(device: Device, isFused: boolean): Float32Array {
    const random = new Random(m * 7919 + n * 31 + k)
    using scope = new Scope(device)
    const columns = end === 'swiglu' ? n / 2 : n
    const before = end === 'add' ? random.values(m * columns, out) : null
    const placed = scope.matrix(out, m, columns, before, gap)
    const left = scope.matrix(x, m, k, random.values(m * k, x), gap)
    const norm = normed ? scope.vector(x, random.values(k, x)) : undefined
    const added = bias === null ? undefined : scope.vector(bias, random.values(n, bias))
    using coded = isCoded(weight) ? QuantizedWeight.upload(device, weight) : null
    const dense = isCoded(weight)
      ? null
      : scope.matrix(weight, n, k, random.values(n * k, weight), gap)
    if (isFused) {
      const options: FusedLinearOptions = { end, epsilon: 1e-5 }
      if (norm !== undefined) options.norm = norm
      if (added !== undefined) options.bias = added
      fusedLinear(placed.view, left.view, coded ?? dense!.view, options)
      return placed.read()
    }
    const input = norm === undefined ? left : scope.matrix(x, m, k, null, 0)
    if (norm !== undefined) rmsNorm(input.view, left.view, norm, 1e-5)
    const product = end === 'store' ? placed.view : scope.matrix(x, m, n, null, 0).view
    multiply(product, input.view, coded ?? dense!.view, added)
    if (end === 'add') add(placed.view, product)
    if (end === 'swiglu') swiglu(placed.view, product)
    return placed.read()
  }
  return {
    name,
    fused: (device) => run(device, true),
    inTurn: (device) => run(device, false),
    tolerance: toleranceOf(setting, size) + error,
  }
}

function multiply(
  out: MatrixView,
  x: MatrixView,
  weight: MatrixView | QuantizedWeight,
  bias: Parameters<typeof linear>[3],
): void {
  if (weight instanceof QuantizedWeight) quantizedLinear(out, x, weight, bias)
  else linear(out, x, weight, bias)
}

/** Columns of one slab, of less than a slot, of several, and such as no slab divides. */
const depths = [64, 320, 576, 1100, 2112]
const ends: readonly End[] = ['store', 'add', 'swiglu']

/** All numbers of rows at all depths; ends, dtypes, biases, gaps and norms in turn. */
export function fusedLinearCases(): FusedCase[] {
  const cases: FusedSetting[] = []
  for (let m = 1; m <= 9; m++) {
    depths.forEach((k, i) => {
      const turn = m * 5 + i
      const end = ends[turn % 3]!
      const x = turn % 2 === 0 ? 'bf16' : 'fp16'
      cases.push({
        ...{ shape: [m, [2, 38, 130, 262][turn % 4]!, k], x, weight: x, end },
        normed: (m + i) % 2 === 0,
        out: end === 'store' && m % 2 === 0 ? 'fp32' : x,
        bias: turn % 5 < 2 ? 'fp32' : null,
        gap: [0, 8, 0, 3][(m + i) % 4]!,
      })
    })
  }
  const large = { x: 'bf16', weight: 'bf16', bias: null, gap: 0 } as const
  cases.push(
    { ...large, shape: [1, 4200, 64], out: 'bf16', end: 'swiglu', normed: true }, // several tiles a block
    { ...large, shape: [1, 70, 8256], out: 'fp32', end: 'store', normed: true }, // several batches of a row
    { ...large, shape: [4, 40, 14336], out: 'fp32', end: 'store', normed: false }, // half a multiprocessor is too little
    { ...large, shape: [8, 40, 14336], out: 'bf16', end: 'add', normed: false }, // x does not fit
    { ...large, shape: [2, 24, 256], x: 'fp32', out: 'fp32', end: 'store', normed: true },
  )
  return cases.map((one) => fusedCase(one))
}

const fourBits = { layout: 'gptq', codeType: 'u4', scaleType: 'bf16' } as const
const eightBits = { layout: 'rows', codeType: 'e4m3', scaleType: 'fp32' } as const

/** Forms that a device may have kernels for, and some that it may not. */
const forms: readonly Omit<WeightCase, 'shape'>[] = [
  { ...fourBits, groupColumns: 128 },
  { ...fourBits, groupColumns: 128, zeros: true },
  { ...fourBits, groupColumns: 64, zeros: true },
  { ...fourBits, groupColumns: 64, zeros: true, actOrder: true },
  { ...fourBits, groupColumns: 32, scaleType: 'fp16', zeros: true },
  fourBits,
  { ...fourBits, layout: 'awq', groupColumns: 128, scaleType: 'fp16', zeros: true },
  { ...fourBits, codeType: 'u8', groupColumns: 128 },
  { ...eightBits, activations: { scaling: 'token' } },
  { ...eightBits, activations: { scaling: 'static', inputScale: 0.0123 } },
  {
    ...{ ...eightBits, groupRows: 128, groupColumns: 128 },
    activations: { scaling: 'group', group: 128 },
  },
]

/** Less than a slot of the ring, and several; columns that no slab or tile divides. */
const codedShapes = [
  [32, 128],
  [96, 1152],
  [160, 2304],
  [272, 320],
] as const

/** Every form in every shape; rows, ends, dtypes and norms in turn. */
export function fusedCodedCases(): FusedCase[] {
  return forms.flatMap((form, i) =>
    codedShapes.map((shape, j) => {
      const turn = i * codedShapes.length + j
      const one: WeightCase = { ...form, shape }
      const [n, k] = shape
      const end = ends[(i + j) % 3]!
      const normed = turn % 2 === 0
      const isE4m3 = form.codeType === 'e4m3'
      const { stored, numbers } = makeWeight(one, new Random(turn))
      const size = Math.sqrt(
        numbers.reduce((sum, value) => sum + value * value, 0) / numbers.length,
      )
      const rounding = isE4m3 ? 2 ** -10 * k + (normed ? 4 : 0) : 2 ** -8 * 4 * Math.sqrt(k)
      const gated = end === 'swiglu' ? 4 * Math.sqrt(k) * size : 1
      const setting: FusedSetting = {
        ...{ shape: [1 + ((i * 3 + j) % 8), n, k], weight: stored, end, normed },
        x: turn % 3 === 0 ? 'fp16' : 'bf16',
        out: end === 'store' && turn % 2 === 1 ? 'fp32' : 'bf16',
        bias: turn % 5 === 0 ? 'fp32' : null,
        gap: [0, 8][turn % 2]!,
      }
      const made = fusedCase(setting, size, rounding * size * gated)
      return { ...made, name: `${made.name}: ${weightName(one)}` }
    }),
  )
}
