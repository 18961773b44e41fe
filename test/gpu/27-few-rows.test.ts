/** Few rows and weights of codes in tiles on a card: against fp64, and bit for bit what they were before. */
import { quantizedLinear, QuantizedWeight } from '../../lib/ops/index.js'
import type { FloatDType, StoredWeight } from '../../lib/ops/index.js'
import { fewRowsCases } from '../ops-cases/quantized-linear.js'
import { makeWeight } from '../ops-cases/quantized.js'
import { Random } from '../ops-cases/random.js'
import { Scope } from '../ops-cases/scope.js'
import { expectSameBits, holdCuda, useDevices } from './devices.js'

const devices = useDevices()

holdCuda(devices, fewRowsCases())

/** x · weightᵀ as fp32, with rows of x and out that nobody may use behind theirs. */
function multiply(
  x: Float32Array,
  m: number,
  stored: StoredWeight,
  dtype: FloatDType,
): Float32Array {
  using scope = new Scope(devices.cuda)
  using weight = QuantizedWeight.upload(devices.cuda, stored)
  const out = scope.matrix('fp32', m, stored.rows, null, 8)
  quantizedLinear(out.view, scope.matrix(dtype, m, stored.columns, x, 8).view, weight)
  return out.read()
}

describe.each([1, 8, 16, 32])('%i rows', (m) => {
  const [n, k] = [208, 712]
  const random = new Random(m)
  const one = { layout: 'rows', codeType: 'u4', shape: [n, k], groupColumns: 128 } as const
  const { stored } = makeWeight({ ...one, scaleType: 'bf16', zeros: true }, random)
  const x = random.values(m * k, 'bf16')

  test('have the same bits every time', () => {
    const first = multiply(x, m, stored, 'bf16')
    for (let i = 0; i < 3; i++) expectSameBits(multiply(x, m, stored, 'bf16'), first)
  })

  test('are spoilt by a NaN one by one', () => {
    const whole = multiply(x, m, stored, 'bf16')
    const spoilt = x.slice()
    const row = m >> 1
    spoilt[row * k + k - 1] = NaN
    const found = multiply(spoilt, m, stored, 'bf16')
    expect(found.subarray(row * n, (row + 1) * n).every(Number.isNaN)).toBe(true)
    whole.fill(NaN, row * n, (row + 1) * n)
    expect(found).toEqual(whole)
  })

  test('are exact where x is a column of the identity', () => {
    const column = 709
    const unit = new Float32Array(m * k)
    for (let row = 0; row < m; row++) unit[row * k + column] = 1
    const { stored: simple, numbers } = makeWeight({ ...one, scaleType: 'bf16' }, new Random(3))
    const found = multiply(unit, m, simple, 'bf16')
    const expected = Float32Array.from({ length: m * n }, (_, i) => numbers[(i % n) * k + column]!)
    expectSameBits(found, expected)
  })
})
