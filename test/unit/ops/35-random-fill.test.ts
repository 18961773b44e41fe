/** fillRandom against an independent count, bit for bit, and its refusals. */
import { Device, fillRandom } from '../../../lib/ops/index.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'
import { expectedFill, fillCases, filled } from '../../ops-cases/random-fill.js'

let cpu: Device
beforeAll(() => {
  cpu = Device.open('cpu', { threads: 2 })
})
afterAll(() => {
  expect(cpu.ledger()).toEqual([])
  cpu.dispose()
  expectNothingLive()
})

test.each(fillCases.map((one) => [one.name, one] as const))('%s', (_, one) => {
  expect(filled(cpu, one)).toEqual(expectedFill(one))
})

test('a fill in pieces is the fill of the whole', () => {
  const whole = { name: '', dtype: 'bf16', count: 5000, seed: 3n, first: 0 } as const
  const second = { ...whole, first: 1234, count: 5000 - 1234 }
  expect(filled(cpu, whole).slice(1234)).toEqual(filled(cpu, second))
})

test('numbers lie evenly between their bounds', () => {
  using buffer = cpu.buffer('fp32', [100_000])
  fillRandom(buffer, { seed: 4, middle: 2, reach: 0.5 })
  const numbers = buffer.readNumbers()
  const mean = numbers.reduce((sum, value) => sum + value, 0) / numbers.length
  const variance = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0) / numbers.length
  expect(Math.min(...numbers.subarray(0, 50_000))).toBeGreaterThanOrEqual(1.5)
  expect(Math.max(...numbers.subarray(0, 50_000))).toBeLessThanOrEqual(2.5)
  expect(mean).toBeCloseTo(2, 2)
  expect(variance).toBeCloseTo(0.25 / 3, 2)
})

test('e4m3 bytes are numbers, half of them in the highest binade', () => {
  using buffer = cpu.buffer('u8', [65_536])
  fillRandom(buffer, { bytes: 'e4m3' })
  const codes = [...buffer.read()].map((code) => code & 0x7f)
  expect(codes).not.toContain(0x7f)
  const highest = codes.filter((code) => code >> 3 === 14).length
  expect(highest / codes.length).toBeCloseTo(0.5, 1)
  expect(Math.max(...codes)).toBe((14 << 3) | 7)
})

test('options of another dtype, out of range or unknown are refused by name', () => {
  using floats = cpu.buffer('fp32', [4])
  using bytes = cpu.buffer('u8', [4])
  using words = cpu.buffer('i32', [4])
  const cases: [() => void, RegExp][] = [
    [
      () => fillRandom(floats, { bytes: 'bits' }),
      /bytes is "bits"; it must be left out for floats/,
    ],
    [() => fillRandom(bytes, { reach: 1 }), /reach is 1; it must be left out for bytes/],
    [() => fillRandom(floats, { reach: -1 }), /reach is -1/],
    [() => fillRandom(floats, { middle: 1e39 }), /middle is 1e\+39/],
    [() => fillRandom(floats, { first: -1 }), /first is -1/],
    [() => fillRandom(floats, { seed: -1n }), /seed is -1n/],
    [() => fillRandom(floats, { sed: 1 } as object), /unknown option sed; did you mean seed/],
    [() => fillRandom(words as never), /buffer\.dtype is "i32"/],
  ]
  for (const [call, sentence] of cases) expect(call).toThrow(sentence)
})
