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
    expect(parse('--max-new-tokens', '18446744073709551615').bigint('max-new-tokens')).toBe(
      2n ** 64n - 1n,
    )
  })

  it.each([
    [['--max-new-token', '5'], 'unknown option --max-new-token; did you mean --max-new-tokens?'],
    [['--maxNewTokens', '5'], 'did you mean --max-new-tokens?'],
    [['--quality'], 'unknown option --quality; see --help'],
    [['-x'], 'unknown option -x'],
  ])('names %j', (argv, sentence) => {
    expect(() => parse(...argv)).toThrow(refusal('OCTAVO_UNKNOWN_OPTION', sentence))
  })

  it.each([
    [['--temperature'], '--temperature needs a value'],
    [['--json=yes'], '--json takes no value'],
  ])('refuses %j', (argv, sentence) => {
    expect(() => parse(...argv)).toThrow(refusal('OCTAVO_INVALID_ARGUMENT', sentence))
  })

  it('refuses what is not a number, by name', () => {
    expect(() => parse('-t', 'hot').number('temperature')).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', "--temperature is 'hot'; it takes a number"),
    )
    expect(() => parse('-t', '').number('temperature')).toThrow(refusal('OCTAVO_INVALID_ARGUMENT'))
    expect(() => parse('-t', '1.5').bigint('temperature')).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', 'a whole number'),
    )
  })
})
