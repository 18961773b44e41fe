/** Every stored layout on the CPU: codes in, numbers out, bit for bit. */
import { dequantize, Device, OctavoError, QuantizedWeight } from '../../../lib/ops/index.js'
import type { StoredWeight } from '../../../lib/ops/index.js'
import { makeWeight, weightCases, weightName } from '../../ops-cases/quantized.js'
import { Random } from '../../ops-cases/random.js'
import { Scope } from '../../ops-cases/scope.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

let device: Device
beforeAll(() => {
  device = Device.open('cpu', { threads: 2 })
})
afterEach(() => {
  expect(device.ledger()).toEqual([])
})
afterAll(() => {
  device.dispose()
  expectNothingLive()
})

function numbersOf(stored: StoredWeight): Float32Array {
  using scope = new Scope(device)
  using weight = QuantizedWeight.upload(device, stored)
  const out = scope.matrix('fp32', stored.rows, stored.columns, null)
  dequantize(out.view, weight)
  return out.read()
}

test.each(weightCases.map((one) => [weightName(one), one] as const))('%s', (_, one) => {
  const { stored, numbers } = makeWeight(one, new Random(17))
  expect(Buffer.from(numbersOf(stored).buffer).equals(Buffer.from(numbers.buffer))).toBe(true)
})

/** One column of eight codes 0 … 7, one row of the weight; other rows all zero codes. */
const gptq = {
  codeType: 'u4',
  rows: 8,
  columns: 8,
  groupColumns: 4,
  scaleType: 'fp32',
  codes: Uint32Array.of(0x76543210, 0, 0, 0, 0, 0, 0, 0),
  scales: Float32Array.of(0.5, 1, 1, 1, 1, 1, 1, 1, 0.25, 1, 1, 1, 1, 1, 1, 1),
} as const
const firstRow = [-4, -3.5, -3, -2.5, -0.25, 0, 0.25, 0.5]

test.each([
  ['gptq', Uint32Array.of(0x77777777, 0x77777774)],
  ['gptq_v2', Uint32Array.of(0x88888888, 0x88888885)],
] as const)('the zeros of %s', (layout, zeros) => {
  expect([...numbersOf({ ...gptq, layout, zeros }).subarray(0, 8)]).toEqual(firstRow)
})

test('act-order', () => {
  const groupIndex = [1, 0, 0, 1, 1, 0, 1, 0]
  const zeros = Uint32Array.of(0x77777777, 0x77777774)
  const numbers = numbersOf({ ...gptq, layout: 'gptq', zeros, groupIndex })
  expect([...numbers.subarray(0, 8)]).toEqual([-1.25, -3.5, -3, -0.5, -0.25, -1.5, 0.25, -0.5])
})

test('a zero of 0 in the first version is stored as all ones', () => {
  const zeros = Uint32Array.of(0xffffffff, 0xffffffff)
  const numbers = numbersOf({ ...gptq, layout: 'gptq', zeros })
  expect([...numbers.subarray(0, 8)]).toEqual([0, 0.5, 1, 1.5, 1, 1.25, 1.5, 1.75])
})

test('the order of AWQ', () => {
  const scales = Float32Array.from({ length: 8 }, (_, n) => (n + 1) / 64)
  const rows = new Uint32Array(8).fill(0x8531642f)
  const shape = { codeType: 'u4', rows: 8, columns: 8, scaleType: 'fp32', scales } as const
  const zeros = Uint32Array.of(0x88888888)
  const numbers = numbersOf({ layout: 'awq', ...shape, codes: rows, zeros })
  const codes = [15, 1, 2, 3, 4, 5, 6, 8]
  for (let n = 0; n < 8; n++) {
    const expected = Math.fround((codes[n]! - 8) * scales[n]!)
    expect([...numbers.subarray(8 * n, 8 * n + 8)]).toEqual(new Array(8).fill(expected))
  }
})

test.each([
  [0xfedcba98, 0x76543210, [0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1]],
] as const)('rows of compressed-tensors', (low, high, expected) => {
  const codes = Uint32Array.of(low, high)
  const scales = Float32Array.of(0.125)
  const shape = { codeType: 'u4', rows: 1, columns: 16, scaleType: 'fp32', scales } as const
  const numbers = numbersOf({ layout: 'rows', ...shape, codes })
  expect([...numbers]).toEqual(expected.map((value) => value / 8))
})

test('one scale for a whole tensor', () => {
  const codes = Uint8Array.of(0x30, 0xba, 0x44, 0x6c)
  const scales = Float32Array.of(0.0125)
  const shape = { codeType: 'e4m3', rows: 2, columns: 2, scaleType: 'fp32', scales } as const
  const numbers = numbersOf({ layout: 'rows', ...shape, codes })
  expect([...numbers]).toEqual([0.5, -1.25, 3, 96].map((v) => Math.fround(v * scales[0]!)))
})

describe('refuses', () => {
  const good: StoredWeight = { ...gptq, layout: 'gptq', zeros: Uint32Array.of(0, 0) }
  const cases: [string, Partial<Record<keyof StoredWeight, unknown>>, string][] = [
    ['codes', { codes: new Uint32Array(7) }, 'weight.codes has 28 bytes: the weight needs 32'],
    ['scales', { scales: new Float32Array(8) }, 'weight.scales has 32 bytes: the weight needs 64'],
    ['zeros', { zeros: new Uint32Array(3) }, 'weight.zeros has 12 bytes: the weight needs 8'],
    ['a group', { groupIndex: [0, 0, 0, 0, 0, 0, 0, 2] }, 'weight.groupIndex[7] is 2'],
    ['a layout', { layout: 'marlin' }, 'weight.layout is "marlin"'],
    ['a type', { codeType: 'u5' }, 'weight.codeType is "u5"'],
    ['half words', { rows: 7 }, 'whole words, got u4 7×8'],
    ['signed', { codeType: 'i8' }, 'unsigned codes'],
    ['activations', { activations: { scaling: 'token' } }, 'expected a weight of i8 or e4m3'],
  ]
  test.each(cases)('%s', (_, change, sentence) => {
    const act = (): void => void numbersOf({ ...good, ...change } as StoredWeight)
    expect(act).toThrow(sentence)
    expect(act).toThrow(OctavoError)
  })

  test('an unknown field', () => {
    expect(() => numbersOf({ ...good, group: 3 } as StoredWeight)).toThrow(/weight\.group|group/)
  })
})
