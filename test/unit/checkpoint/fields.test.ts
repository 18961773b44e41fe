import { Fields, listNames, shorten } from '../../../lib/checkpoint/fields.js'
import { refusal, thrownBy } from './folders.js'

const fields = new Fields('config.json', {
  size: 64,
  text: 'abc',
  nothing: null,
  zero: 0,
  negative: -3,
  half: 0.5,
  big: 1e12,
  infinite: Infinity,
  yes: true,
  names: ['a', 'b'],
  mixed: ['a', 1],
  inner: { size: 'x' },
})

test('values of the right type', () => {
  expect(fields.integer('size')).toBe(64)
  expect(fields.optionalInteger('zero', { min: 0 })).toBe(0)
  expect(fields.number('half')).toBe(0.5)
  expect(fields.optionalBoolean('yes')).toBe(true)
  expect(fields.optionalString('text')).toBe('abc')
  expect(fields.optionalStrings('names')).toEqual(['a', 'b'])
  expect(fields.optionalObject('inner')?.has('size')).toBe(true)
  expect(fields.firstOf('absent', 'nothing', 'half', 'size')).toBe('half')
})

test('null and absent are the same; a name of Object.prototype is absent', () => {
  for (const key of ['nothing', 'absent', 'toString', '__proto__', 'constructor']) {
    expect(fields.has(key)).toBe(false)
    expect(fields.optionalInteger(key)).toBeNull()
    expect(fields.optionalNumber(key)).toBeNull()
    expect(fields.optionalBoolean(key)).toBeNull()
    expect(fields.optionalString(key)).toBeNull()
    expect(fields.optionalStrings(key)).toBeNull()
    expect(fields.optionalObject(key)).toBeNull()
  }
})

test.each<[string, () => unknown]>([
  ['config.json: "text" must be a positive integer, got "abc"', () => fields.integer('text')],
  ['config.json: "zero" must be a positive integer, got 0', () => fields.integer('zero')],
  [
    '"negative" must be a non-negative integer, got -3',
    () => fields.integer('negative', { min: 0 }),
  ],
  ['"half" must be a positive integer, got 0.5', () => fields.integer('half')],
  [
    '"big" must be an integer of at most 2147483647, got 1000000000000',
    () => fields.integer('big'),
  ],
  ['"absent" is missing', () => fields.integer('absent')],
  ['"infinite" must be a number above 0', () => fields.number('infinite')],
  ['"half" must be a number above 0 and at most 0.1', () => fields.number('half', { max: 0.1 })],
  ['"text" must be a number above 0, got "abc"', () => fields.number('text')],
  ['"size" must be true or false, got 64', () => fields.optionalBoolean('size')],
  ['"size" must be a string, got 64', () => fields.optionalString('size')],
  ['"mixed" must be a list of strings, got ["a",1]', () => fields.optionalStrings('mixed')],
  ['"names" must be an object, got ["a","b"]', () => fields.optionalObject('names')],
  [
    '"inner.size" must be a positive integer, got "x"',
    () => fields.optionalObject('inner')!.integer('size'),
  ],
])('%s', (sentence, call) => {
  expect(thrownBy(call)).toMatchObject(refusal('OCTAVO_CHECKPOINT_INVALID', sentence))
})

test('long values and lists are cut', () => {
  expect(shorten('x'.repeat(100))).toBe(`${'x'.repeat(60)}…`)
  expect(listNames(['a', 'b', 'c', 'd', 'e', 'f'])).toBe('a, b, c, d and 2 more')
  const long = new Fields('config.json', { key: 'y'.repeat(5000) })
  expect((thrownBy(() => long.integer('key')) as Error).message.length).toBeLessThan(150)
})
