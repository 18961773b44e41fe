import { Arguments, type Flags } from '../../../lib/cli/arguments.js'
import { refusal } from '../../refusal.js'

const flags: Flags = {
  temperature: { type: 'string', short: 't' },
  'max-new-tokens': { type: 'string' },
  stop: { type: 'string', multiple: true },
  json: { type: 'boolean' },
}
const parse = (...argv: string[]): Arguments => new Arguments(argv, flags)

describe('Arguments', () => {
  it('reads flags in any place, and the rest in order', () => {
    const args = parse('one', '--temperature', '0.5', '--json', 'two', '--stop=a', '--stop', 'b')
    expect(args.positionals).toEqual(['one', 'two'])
    expect(args.number('temperature')).toBe(0.5)
    expect(args.has('json')).toBe(true)
    expect(args.list('stop')).toEqual(['a', 'b'])
    expect(args.number('max-new-tokens')).toBeUndefined()
    expect(args.has('help')).toBe(false)
  })

  it('takes short flags, negative numbers, and anything after --', () => {
    expect(parse('-t', '-1').number('temperature')).toBe(-1)
    expect(parse('--', '--json').positionals).toEqual(['--json'])
  })

  it('reads whole numbers exactly', () => {
    expect(parse('--max-new-tokens', '18446744073709551615').uint64('max-new-tokens')).toBe(
      2n ** 64n - 1n,
    )
  })

  it.each([
    [['--max-new-token', '5'], 'unknown option --max-new-token; did you mean --max-new-tokens?'],
    [['--maxNewTokens', '5'], 'did you mean --max-new-tokens?'],
    [['--quality'], 'unknown option --quality; see --help'],
    [['-x'], 'unknown option -x'],
    [['--toString'], 'unknown option --toString; see --help'],
    [['--constructor', '5'], 'unknown option --constructor'],
    [['--__proto__=5'], 'unknown option --__proto__'],
    [['--hasOwnProperty'], 'unknown option --hasOwnProperty'],
  ])('names %j', (argv, sentence) => {
    expect(() => parse(...argv)).toThrow(refusal('OCTAVO_UNKNOWN_OPTION', sentence))
  })

  it.each([
    [['--temperature'], '--temperature needs a value'],
    [['--json=yes'], '--json takes no value'],
  ])('refuses %j', (argv, sentence) => {
    expect(() => parse(...argv)).toThrow(refusal('OCTAVO_INVALID_ARGUMENT', sentence))
  })

  it('refuses an empty path, by name', () => {
    expect(parse('-t', 'a').path('temperature')).toBe('a')
    expect(parse().path('temperature')).toBeUndefined()
    expect(() => parse('-t', '').path('temperature')).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', "--temperature is ''; it takes the path of a file"),
    )
  })

  it('refuses what is not a number, by name', () => {
    expect(() => parse('-t', 'hot').number('temperature')).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', "--temperature is 'hot'; it takes a number"),
    )
    expect(() => parse('-t', '').number('temperature')).toThrow(refusal('OCTAVO_INVALID_ARGUMENT'))
    expect(() => parse('-t', '1.5').uint64('temperature')).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', 'a whole number'),
    )
  })
  it.each([
    ['-1', "--temperature is '-1'; it takes a number from 0 to 1"],
    ['1.5', "--temperature is '1.5'; it takes a number from 0 to 1"],
    ['Infinity', "--temperature is 'Infinity'; it takes a number from 0 to 1"],
    ['0.5', "--temperature is '0.5'; it takes an integer from 0 to 1"],
  ])('refuses the integer %s, by name and range', (text, sentence) => {
    expect(() => parse('-t', text).integer('temperature', { min: 0, max: 1 })).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', sentence),
    )
  })

  it('refuses 2^64 where a 64-bit number is due, and an empty text in a list', () => {
    expect(() => parse('-t', '18446744073709551616').uint64('temperature')).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', 'below 2^64'),
    )
    expect(() => parse('--stop', 'a', '--stop', '').list('stop')).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', "--stop is ''"),
    )
  })
})

test('a flag that can be switched off is true, false or left to the default', () => {
  const known: Flags = { graphs: { type: 'boolean' }, 'no-graphs': { type: 'boolean' } }
  const read = (...argv: string[]): boolean | undefined =>
    new Arguments(argv, known).either('graphs')
  expect([read(), read('--graphs'), read('--no-graphs')]).toEqual([undefined, true, false])
  expect(() => read('--graphs', '--no-graphs')).toThrow(
    '--graphs and --no-graphs contradict each other: give one',
  )
})
