import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fields } from '../../../lib/checkpoint/fields.js'
import { ropeParametersOf } from '../../../lib/checkpoint/rope-config.js'
import { ropeOf, yarnMagnitude } from '../../../lib/families/rope.js'

interface RopeGolden {
  name: string
  parameters: Record<string, unknown>
  headDim: number
  maxPositions: number
  inverseFrequencies: number[]
  magnitude: number
}

const path = join(__dirname, '..', '..', 'goldens', 'ropes.json')
const { cases } = JSON.parse(readFileSync(path, 'utf8')) as { cases: RopeGolden[] }

const worstError = (actual: ArrayLike<number>, expected: readonly number[]): number =>
  Math.max(...expected.map((value, i) => Math.abs(actual[i]! / value - 1)))

type Known = [index: number, value: number]

const pick = (values: Float32Array, known: readonly Known[]): number[] =>
  known.map(([index]) => values[index]!)

test.each(cases)('$name: the frequencies of transformers', (golden) => {
  const fields = new Fields('config.json', { rope_parameters: golden.parameters })
  const parameters = ropeParametersOf(fields, 'full_attention', golden.maxPositions)
  const { inverseFrequencies, magnitude } = ropeOf(parameters, golden.headDim)
  expect(inverseFrequencies).toHaveLength(golden.headDim / 2)
  // transformers raises theta to its powers in fp32; ours is rounded once
  expect(worstError(inverseFrequencies, golden.inverseFrequencies)).toBeLessThan(2e-6)
  expect(magnitude).toBeCloseTo(golden.magnitude, 12)
})

test('the golden has every type that scales', () => {
  const types = new Set(cases.map(({ parameters }) => parameters['rope_type']))
  expect([...types].sort()).toEqual(['linear', 'llama3', 'yarn'])
})

test('default: theta to the power of -2i/d, rounded to fp32', () => {
  const { inverseFrequencies, magnitude } = ropeOf({ type: 'default', theta: 10_000 }, 8)
  expect([...inverseFrequencies]).toEqual([1, 0.1, 0.01, 0.001].map(Math.fround))
  expect(magnitude).toBe(1)
})

test('Llama 3.1 (theta 5e5, head size 128, factor 8): known values', () => {
  const { inverseFrequencies } = ropeOf(
    {
      type: 'llama3',
      theta: 5e5,
      factor: 8,
      originalPositions: 8192,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
    },
    128,
  )
  const known: Known[] = [
    [0, 1],
    [28, 0.00321144599],
    [29, 0.00216657076],
    [30, 0.00137189357],
    [31, 8.56751413e-4],
    [34, 1.78507813e-4],
    [35, 9.55621235e-5],
    [63, 3.06892599e-7],
  ]
  expect(
    worstError(
      pick(inverseFrequencies, known),
      known.map(([, value]) => value),
    ),
  ).toBeLessThan(1e-6)
})

test('YaRN (theta 1e4, factor 40, original 4096, head size 64): known values', () => {
  const { inverseFrequencies, magnitude } = ropeOf(
    {
      type: 'yarn',
      theta: 1e4,
      factor: 40,
      originalPositions: 4096,
      attentionFactor: yarnMagnitude(40),
      betaFast: 32,
      betaSlow: 1,
      truncate: true,
    },
    64,
  )
  const known: Known[] = [
    [0, 1],
    [9, 0.0749894209],
    [10, 0.0562341325],
    [11, 0.0390069266],
    [16, 0.0055],
    [22, 1.77827941e-4],
    [23, 3.33380358e-5],
    [31, 3.33380358e-6],
  ]
  expect(magnitude).toBeCloseTo(1.3688879, 7)
  expect(
    worstError(
      pick(inverseFrequencies, known),
      known.map(([, value]) => value),
    ),
  ).toBeLessThan(1e-6)
})
