/** fillRandom on a card: the bits of the CPU, which an independent count holds. */
import { expectedFill, fillCases, filled } from '../ops-cases/random-fill.js'
import { useDevices } from './devices.js'

const devices = useDevices()

test.each(fillCases.map((one) => [one.name, one] as const))('%s', (_, one) => {
  expect(filled(devices.cuda, one)).toEqual(expectedFill(one))
})

test('a million numbers of each kind', () => {
  const large = { count: 2 ** 20 + 3, seed: 77n, first: 1 }
  const kinds = [
    { ...large, name: '', dtype: 'bf16', middle: 1, reach: 0.1 },
    { ...large, name: '', dtype: 'fp16', reach: 0.02 },
    { ...large, name: '', dtype: 'u8', bytes: 'e4m3' },
    { ...large, name: '', dtype: 'u8', bytes: 'bits' },
  ] as const
  for (const kind of kinds) {
    const [cuda, cpu] = [filled(devices.cuda, kind), filled(devices.cpu, kind)]
    expect(cuda.findIndex((bits, i) => bits !== cpu[i])).toBe(-1)
  }
})
