/**
 * Products of 8-bit codes on a card against the CPU's, over every tile and odd shapes. The tensor cores keep some 14
 * bits of a sum of e4m3 products, so results are held to 2⁻¹⁰ of Σ |a · b|, as `Ops::linear` says; int8 sums are exact.
 */
import { quantizedLinear, QuantizedWeight } from '../../lib/ops/index.js'
import type { Device, FloatDType, StoredWeight } from '../../lib/ops/index.js'
import { Random } from '../ops-cases/random.js'
import { Scope } from '../ops-cases/scope.js'
import { useDevices } from './devices.js'

const devices = useDevices()

type Kind = 'channels' | 'tensor' | 'static' | 'blocks'

interface Product {
  codeType: 'e4m3' | 'i8'
  kind: Kind
  shape: readonly [m: number, n: number, k: number]
  x: FloatDType
  out: FloatDType
  gap: number
  bias: boolean
}

interface Operands {
  stored: StoredWeight
  inputs: Float32Array
  biases: Float32Array | undefined
}

function codesOf(count: number, codeType: 'e4m3' | 'i8', random: Random): Uint8Array {
  const codes = Uint8Array.from({ length: count }, () => random.integer(0, 256))
  return codeType === 'i8' ? codes : codes.map((code) => ((code & 127) === 127 ? code ^ 1 : code))
}

function activationsOf(kind: Kind): NonNullable<StoredWeight['activations']> {
  if (kind === 'blocks') return { scaling: 'group', group: 128 }
  return kind === 'static' ? { scaling: 'static', inputScale: 0.0123 } : { scaling: 'token' }
}

function operandsOf({ codeType, kind, shape, x, bias }: Product, random: Random): Operands {
  const [m, n, k] = shape
  const blocks = kind === 'blocks'
  const scales = blocks ? Math.ceil(n / 128) * Math.ceil(k / 128) : kind === 'tensor' ? 1 : n
  const inputs = random.values(m * k, x)
  inputs.fill(0, 0, Math.min(k, 160)) // a group of zeros
  return {
    inputs,
    biases: bias ? random.values(n, 'fp32', 10) : undefined,
    stored: {
      ...{ layout: 'rows', codeType, rows: n, columns: k, scaleType: 'fp32' },
      codes: codesOf(n * k, codeType, random),
      scales: Float32Array.from({ length: scales }, () => (1 + random.uniform()) / 512),
      activations: activationsOf(kind),
      ...(blocks ? { groupRows: 128, groupColumns: 128 } : {}),
    },
  }
}

function multiply(
  device: Device,
  one: Product,
  { stored, inputs, biases }: Operands,
): Float32Array {
  const [m, n, k] = one.shape
  using scope = new Scope(device)
  using weight = QuantizedWeight.upload(device, stored)
  const placed = scope.matrix(one.out, m, n, null, one.gap)
  const left = scope.matrix(one.x, m, k, inputs, one.gap)
  const added = biases ? scope.vector('fp32', biases) : undefined
  quantizedLinear(placed.view, left.view, weight, added)
  return placed.read()
}

/** Σ |a · b| of every element, by the CPU from magnitudes. */
function magnitudes(one: Product, { stored, inputs }: Operands): Float32Array {
  const bytes = stored.codes as Uint8Array
  const size = (code: number): number =>
    one.codeType === 'e4m3' ? code & 127 : Math.min(127, Math.abs((code << 24) >> 24))
  const positive = { ...stored, codes: bytes.map(size) }
  const product = { ...one, out: 'fp32', x: 'fp32' } as const
  return multiply(devices.cpu, product, {
    stored: positive,
    inputs: inputs.map(Math.abs),
    biases: undefined,
  })
}

const unit: Record<FloatDType, number> = { fp32: 2 ** -23, bf16: 2 ** -8, fp16: 2 ** -11 }

/**
 * Of Σ |a · b|. Below sm_90 no tensor core multiplies e4m3: weight and quantised x are both rounded to an x of 16 bits.
 * So it is in the PTX of this build, which the driver takes on any card when told to.
 */
function shareOf({ codeType, x }: Product): number {
  if (codeType === 'i8') return 2 ** -20
  const { computeMajor } = devices.cuda.info
  const isRounded = computeMajor < 9 || process.env['CUDA_FORCE_PTX_JIT'] === '1'
  return isRounded && x !== 'fp32' ? 2 * unit[x] + 2 ** -20 : 2 ** -10
}

function expectClose(one: Product, operands: Operands): void {
  const ours = multiply(devices.cuda, one, operands)
  const expected = multiply(devices.cpu, { ...one, out: 'fp32' }, operands)
  const sizes = magnitudes(one, operands)
  const share = shareOf(one)
  ours.forEach((value, i) => {
    const most = share * sizes[i]! + unit[one.out] * Math.abs(expected[i]!)
    if (Math.abs(value - expected[i]!) <= most) return
    const [, n] = one.shape
    throw new Error(
      `[${Math.floor(i / n)}, ${i % n}] is ${value}, expected ${expected[i]} ± ${most}`,
    )
  })
}

const shapes: readonly Product['shape'][] = [
  [1, 8, 16], // less than a box of everything
  [1, 200, 1200], // halves of K
  [7, 130, 203],
  [64, 1030, 1100],
  [65, 264, 384],
  [130, 136, 515],
  [128, 9000, 130], // more tiles of 128 × 64 than multiprocessors
  [256, 8448, 200], // 128 × 128
  [300, 200, 2048],
  [2050, 2000, 260], // 256 × 128, the last ones ragged
]

const kinds = [
  ['e4m3', 'channels'],
  ['e4m3', 'tensor'],
  ['e4m3', 'static'],
  ['e4m3', 'blocks'],
  ['i8', 'channels'],
  ['i8', 'static'],
] as const

const settings = [
  ['bf16', 'bf16', 0, false],
  ['bf16', 'fp32', 3, true],
  ['fp16', 'fp16', 8, true],
  ['fp32', 'bf16', 1, false],
] as const

const products = kinds.flatMap(([codeType, kind], i) =>
  shapes.map((shape, j): Product => {
    const [x, out, gap, bias] = settings[(i + j) % settings.length]!
    return { codeType, kind, shape, x, out, gap, bias }
  }),
)

describe('products of codes', () => {
  test.each(
    products.map((one) => {
      const { codeType, kind, shape, x, out, gap, bias } = one
      const name = `${codeType} ${kind} ${shape.join('x')}, ${x} → ${out}, gap ${gap}`
      return [bias ? `${name}, bias` : name, one] as const
    }),
  )('%s', (_, one) => {
    expectClose(one, operandsOf(one, new Random(one.shape[0] * 31 + one.shape[1])))
  })

  const small = { shape: [9, 256, 300], x: 'bf16', out: 'fp32', gap: 0, bias: false } as const

  test.each(kinds)('%s %s: the same bits every time', (codeType, kind) => {
    const one: Product = { ...small, codeType, kind }
    const operands = operandsOf(one, new Random(3))
    const first = multiply(devices.cuda, one, operands)
    for (let i = 0; i < 4; i++) expect(multiply(devices.cuda, one, operands)).toEqual(first)
  })

  test.each(kinds)('%s %s: a NaN spoils its own row alone', (codeType, kind) => {
    const one: Product = { ...small, codeType, kind }
    const operands = operandsOf(one, new Random(4))
    const whole = multiply(devices.cuda, one, operands)
    const [, n, k] = one.shape
    operands.inputs[3 * k + 17] = NaN
    const spoilt = multiply(devices.cuda, one, operands)
    expect(spoilt.subarray(3 * n, 4 * n).every(Number.isNaN)).toBe(true)
    whole.fill(NaN, 3 * n, 4 * n)
    expect(spoilt).toEqual(whole)
  })
})
