import { Arguments } from '../../../lib/cli/arguments.js'
import { bytesFlag, limitFlag, parseBytes } from '../../../lib/cli/sizes.js'

it.each([
  ['1', 1],
  ['80GiB', 80 * 2 ** 30],
  ['80 GiB', 80 * 2 ** 30],
  ['24GB', 24e9],
  ['1.5g', 1.5 * 2 ** 30],
  ['512M', 512 * 2 ** 20],
  ['3kb', 3000],
  ['2TiB', 2 ** 41],
  ['100b', 100],
])('reads %j', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes)
})

it.each(['', '0', '-1', 'GiB', '1e9', '80XB', '1 0', '0.2b', '7.5', '99999999TiB'])(
  'refuses %j',
  (text) => {
    expect(parseBytes(text)).toBeNull()
  },
)

const flag = (value: string): Arguments =>
  new Arguments(['--limit', value], { limit: { type: 'string' } })

it('names the flag in a refusal', () => {
  expect(() => bytesFlag(flag('much'), 'limit')).toThrow(/--limit is 'much'; it takes a size/)
  expect(() => limitFlag(flag('1.5'), 'limit')).toThrow(/--limit is '1\.5'; it takes a fraction/)
  expect(() => limitFlag(flag('0'), 'limit')).toThrow(/--limit is '0'/)
})

it('tells fractions from sizes', () => {
  expect(limitFlag(flag('0.9'), 'limit')).toBe(0.9)
  expect(limitFlag(flag('.5'), 'limit')).toBe(0.5)
  expect(limitFlag(flag('1'), 'limit')).toBe(1)
  expect(limitFlag(flag('2GiB'), 'limit')).toBe(2 ** 31)
  expect(limitFlag(new Arguments([], {}), 'limit')).toBeUndefined()
})
