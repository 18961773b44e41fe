/** Cases of `quantizedLinear`, for any device. */
import { quantizedLinear, QuantizedWeight } from '../../lib/ops/index.js'
import type { ActivationQuantization, CodeType, FloatDType } from '../../lib/ops/index.js'
import { lazyCase, unit } from './compare.js'
import type { OpCase } from './compare.js'
import { e4m3, makeWeight, weightCases, weightName } from './quantized.js'
import type { WeightCase } from './quantized.js'
import * as reference from './reference-rows.js'
import { floats } from './rows.js'
import { Scope } from './scope.js'

const positiveE4m3 = Array.from({ length: 127 }, (_, code) => e4m3(code))

/** Nearest, ties to the even code. */
function nearestE4m3(value: number): number {
  const magnitude = Math.min(Math.abs(value), 448)
  let best = 0
  let least = magnitude
  for (let code = 1; code < positiveE4m3.length; code++) {
    const distance = Math.abs(positiveE4m3[code]! - magnitude)
    if (distance > least || (distance === least && code % 2 !== 0)) continue
    best = code
    least = distance
  }
  return Math.sign(value) * positiveE4m3[best]!
}

function nearestInt8(value: number): number {
  const clamped = Math.max(-127, Math.min(127, value))
  const below = Math.floor(clamped)
  const rest = clamped - below
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below
}

/** c · s, in fp32 as the definition has it. */
export function quantizedInput(
  x: Float32Array,
  columns: number,
  codeType: CodeType,
  { scaling, group = columns, inputScale = 0 }: ActivationQuantization,
): Float32Array {
  const isFloat = codeType === 'e4m3'
  const out = new Float32Array(x.length)
  for (let row = 0; row < x.length; row += columns) {
    for (let first = row; first < row + columns; first += group) {
      const piece = x.subarray(first, Math.min(first + group, row + columns))
      let largest = piece.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      if (scaling === 'group') largest = Math.max(largest, Math.fround(1e-4))
      const dynamic = Math.max(Math.fround(largest / (isFloat ? 448 : 127)), 2 ** -126)
      const scale = scaling === 'static' ? Math.fround(inputScale) : dynamic
      piece.forEach((value, i) => {
        const code = (isFloat ? nearestE4m3 : nearestInt8)(Math.fround(value / scale))
        out[first + i] = Math.fround(code * scale)
      })
    }
  }
  return out
}

interface Setting {
  m: number
  x: FloatDType
  out: FloatDType
  bias: FloatDType | null
  gap: number
}

/**
 * `rounds`: whether the device may round weight and quantised x to a 16-bit dtype of x, and sum products of e4m3 codes in
 * fewer bits than fp32 has; or the share of the largest Σ |x · weight| by which it may err.
 */
function linearCase(
  one: WeightCase,
  { m, x, out, bias, gap }: Setting,
  rounds: boolean | number,
): OpCase {
  const [n, k] = one.shape
  const name = `${m} rows of ${x}${bias ? ` + ${bias}` : ''} → ${out}, gap ${gap} · ${weightName(one)}`
  return lazyCase(name, (random) => {
    const { stored, numbers } = makeWeight(one, random)
    const inputs = random.values(m * k, x)
    inputs.fill(0, 0, Math.min(k, 160)) // a group of zeros
    const biases = bias ? random.values(n, bias) : null
    const used = one.activations ? quantizedInput(inputs, k, one.codeType, one.activations) : inputs
    const sizes = reference.linear(used.map(Math.abs), numbers.map(Math.abs), null, [m, n, k])
    const most = sizes.reduce((a, b) => Math.max(a, b), 0)
    const codes = one.activations && one.codeType === 'e4m3' ? 2 ** -11 : 0
    const most16 = rounds ? Math.max(codes, x === 'fp32' ? 0 : 2 * unit[x]) : 0
    const rounding = typeof rounds === 'number' ? rounds : most16
    return {
      run(device) {
        using scope = new Scope(device)
        using weight = QuantizedWeight.upload(device, stored)
        const placed = scope.matrix(out, m, n, null, gap)
        const isAligned = (k + gap) % 8 === 0
        const left = scope.matrix(x, m, k, inputs, gap, isAligned ? Math.ceil(gap / 8) * 8 : gap)
        quantizedLinear(
          placed.view,
          left.view,
          weight,
          biases ? scope.vector(bias!, biases) : undefined,
        )
        return { out: placed.read() }
      },
      reference: () => ({ out: reference.linear(used, numbers, biases, [m, n, k]) }),
      tolerance: { relative: unit[out] + 2 ** -21, absolute: most * (rounding + 2 ** -21) },
    }
  })
}

const activations: readonly WeightCase[] = (['i8', 'e4m3'] as const).flatMap((codeType) =>
  [
    { scaling: 'token' } as const,
    { scaling: 'static', inputScale: 0.0123 } as const,
    { scaling: 'group', group: 128 } as const,
  ].flatMap((how): WeightCase[] => [
    { layout: 'rows', codeType, shape: [70, 320], scaleType: 'bf16', activations: how },
    {
      ...{ layout: 'rows', codeType, shape: [33, 203], groupRows: 16, groupColumns: 128 },
      ...{ scaleType: 'fp32', activations: how },
    },
  ]),
)

/** Every weight with few and many rows; odd sizes, gaps and dtypes in turn. */
export function quantizedLinearCases(rounds: boolean): OpCase[] {
  const cases: OpCase[] = []
  const all = [...weightCases, ...activations]
  all.forEach((one, index) => {
    for (const m of [1, 5, 17, 70]) {
      const turn = index + m
      const setting: Setting = {
        m,
        x: floats[turn % 3]!,
        out: floats[(turn + index) % 3]!,
        bias: turn % 2 === 0 ? floats[index % 3]! : null,
        gap: turn % 4 === 0 ? 3 : 0,
      }
      cases.push(linearCase(one, setting, rounds))
    }
  })
  return cases
}

const tileTypes = ['u2', 'u3', 'u4', 'u8'] as const

/**
 * Few rows and weights of many strips of 16 rows: shares of a block that begin amid tiles, several passes, halves of K,
 * fewer tiles along K than teams of warps, groups and zeros of every form, columns of groups in any order. Codes less
 * zeros are exact there, whatever x's dtype is, and all sums are of fp32.
 */
export function fewRowsCases(): OpCase[] {
  const gptq = { layout: 'gptq', scaleType: 'fp16', zeros: true } as const
  const rows = { layout: 'rows', scaleType: 'bf16' } as const
  const weights = tileTypes.flatMap((codeType, index): WeightCase[] => [
    { ...gptq, codeType, shape: [1216, 192], groupColumns: 32 },
    { ...rows, codeType, shape: [2136 + 16 * index, 130], groupColumns: 64 },
    { ...rows, codeType, shape: [40, 4160], groupColumns: 128 },
    { ...gptq, codeType, shape: [320, 640], groupColumns: 64 },
    { ...gptq, codeType, shape: [160, 1088], groupColumns: 32, actOrder: true },
    { ...rows, codeType, shape: [90, 832], groupColumns: 128, actOrder: true },
  ])
  const settings = [1, 8, 16, 31].map((m, index): Setting => ({
    ...{ m, x: index % 2 === 0 ? 'bf16' : 'fp16', out: index % 3 === 0 ? 'fp32' : 'bf16' },
    ...{ bias: index % 2 === 1 ? 'bf16' : null, gap: index === 2 ? 8 : 0 },
  }))
  return weights.flatMap((one, turn) =>
    settings
      .filter((_, index) => (index + turn) % 2 === 0)
      .map((setting) => {
        const gap = setting.gap + ((8 - (one.shape[1] % 8)) % 8) // where tiles can meet them
        return linearCase(one, { ...setting, gap }, 2 ** -16)
      }),
  )
}

/** Weights of several tiles each way: what the kernels of a card for tiles of codes meet, from few rows to many. */
export function tiledLinearCases(): OpCase[] {
  const weights = tileTypes.flatMap((codeType): WeightCase[] => [
    {
      ...{ layout: 'gptq', codeType, shape: [160, 1184], groupColumns: 32 },
      ...{ scaleType: 'fp16', zeros: true },
    },
    { layout: 'rows', codeType, shape: [138, 1096], groupColumns: 128, scaleType: 'bf16' },
    { layout: 'rows', codeType, shape: [72, 2120], scaleType: 'bf16' },
  ])
  const settings = [1, 9, 17, 70, 130].map((m, index): Setting => ({
    ...{ m, x: index % 2 === 0 ? 'bf16' : 'fp16', out: index % 3 === 0 ? 'fp32' : 'bf16' },
    ...{ bias: index % 4 === 1 ? 'bf16' : null, gap: index % 5 === 2 ? 8 : 0 },
  }))
  return weights.flatMap((one) => settings.map((setting) => linearCase(one, setting, true)))
}
