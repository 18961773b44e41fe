import { parseHeader, type TensorInfo } from '../../../lib/checkpoint/header.js'
import { headerOf, refusal, thrownBy } from './folders.js'

/** As in a file with a 100-byte start and so much data. */
const parse = (header: unknown, dataBytes: number): TensorInfo[] =>
  parseHeader(
    'm.safetensors',
    typeof header === 'string' ? header : JSON.stringify(header),
    100,
    100 + dataBytes,
  )

const f32 = (shape: unknown, begin: unknown, end: unknown) => ({
  dtype: 'F32',
  shape,
  data_offsets: [begin, end],
})

test('tensors by offset, whatever the order in the header', () => {
  const header = { __metadata__: { format: 'pt' }, b: f32([2, 3], 4, 28), a: f32([], 0, 4) }
  expect(parse(header, 28)).toEqual([
    { name: 'a', dtype: 'F32', shape: [], offset: 100, bytes: 4 },
    { name: 'b', dtype: 'F32', shape: [2, 3], offset: 104, bytes: 24 },
  ])
})

test('empty tensors, odd alignments, sub-byte types and no tensors at all', () => {
  const odd = {
    a: { dtype: 'U8', shape: [3], data_offsets: [0, 3] },
    b: f32([1], 3, 7),
    e: f32([0, 2 ** 52], 3, 3),
  }
  expect(parse(odd, 7).map(({ name }) => name)).toEqual(['a', 'e', 'b'])
  expect(parse({ a: { dtype: 'F4', shape: [3, 2], data_offsets: [0, 3] } }, 3)).toHaveLength(1)
  expect(parse({}, 0)).toEqual([])
  expect(parse('{}      ', 0)).toEqual([])
})

test('names that JavaScript objects treat specially', () => {
  const text =
    '{"__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"constructor":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}'
  expect(parse(text, 2).map(({ name }) => name)).toEqual(['__proto__', 'constructor'])
})

test.each<[string, unknown, number]>([
  ['the header of m.safetensors is not valid JSON', '{"a": ', 0],
  ['does not begin with "{"', ' {}', 0],
  ['does not begin with "{"', '[]', 0],
  ['tensor "a" is not described by an object', { a: 3 }, 0],
  ['tensor "a" is not described by an object', { a: null }, 0],
  ['has unknown dtype "F31"', { a: { ...f32([1], 0, 4), dtype: 'F31' } }, 4],
  ['has unknown dtype 7', { a: { ...f32([1], 0, 4), dtype: 7 } }, 4],
  ['has unknown dtype nothing', { a: {} }, 4],
  ['has [-1]', { a: f32([-1], 0, 4) }, 4],
  ['has [1.5]', { a: f32([1.5], 0, 6) }, 6],
  ['shape of non-negative integers, has "1"', { a: f32('1', 0, 4) }, 4],
  ['has [9007199254740992]', { a: f32([2 ** 53], 0, 4) }, 4],
  ['must have two data_offsets', { a: f32([1], 0, null) }, 4],
  ['must have two data_offsets', { a: { dtype: 'F32', shape: [1], data_offsets: [0, 4, 8] } }, 4],
  ['two data_offsets ≥ 0 with begin ≤ end, has [-4,0]', { a: f32([1], -4, 0) }, 4],
  ['has offsets 4 to 0, which run backwards', { a: f32([1], 4, 0) }, 4],
  ['has 8 bytes of data, but F32 [1] takes 4 bytes', { a: f32([1], 0, 8) }, 8],
  ['takes more bytes than a file can have', { a: f32([2 ** 31, 2 ** 31], 0, 8) }, 8],
  ['takes more bytes', { a: f32(Array(1000).fill(2 ** 40), 0, 8) }, 8],
  ['takes more bytes', { a: { dtype: 'F4', shape: [3], data_offsets: [0, 2] } }, 2],
  ['tensor "b" overlaps "a"', { a: f32([2], 0, 8), b: f32([2], 4, 12) }, 12],
  ['tensor "b" overlaps "a"', { a: f32([2], 0, 8), b: f32([2], 0, 8) }, 8],
  ['tensor "b" leaves 4 unused bytes before it', { a: f32([1], 0, 4), b: f32([1], 8, 12) }, 12],
  ['tensor "a" leaves 4 unused bytes before it', { a: f32([1], 4, 8) }, 8],
  [
    'lies at bytes 100 to 108, but the file ends at 104; it may be an incomplete download',
    { a: f32([2], 0, 8) },
    4,
  ],
  ['its tensors end at byte 104, but the file has 108', { a: f32([1], 0, 4) }, 8],
  ['its tensors end at byte 100, but the file has 103', {}, 3],
  ['"__metadata__" in its header must map strings to strings', { __metadata__: { a: 1 } }, 0],
  ['"__metadata__" in its header must map strings to strings', { __metadata__: 'x' }, 0],
])('refuses: %s', (sentence, header, dataBytes) => {
  expect(thrownBy(() => parse(header, dataBytes))).toMatchObject(
    refusal('OCTAVO_CHECKPOINT_INVALID', sentence),
  )
})

const entry = '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'

test.each([
  [`{"a":${entry},"a":${entry}}`, 'has tensor "a" twice'],
  [`{"a":${entry},"\\u0061":${entry}}`, 'has tensor "a" twice'],
  [`{"a":{"shape":[9],${entry.slice(1)}}`, 'has "shape" of tensor "a" twice'],
  ['{"__metadata__":{},"__metadata__":{}}', 'has tensor "__metadata__" twice'],
])('JSON.parse would hide a repeated key: %s', (text, sentence) => {
  expect(thrownBy(() => parse(text, 1))).toMatchObject(
    refusal('OCTAVO_CHECKPOINT_INVALID', sentence),
  )
})

test('strings with quotes, colons and braces do not confuse the search for repeated keys', () => {
  const name = '{"a\\":{}\\\\'
  const text = `{${JSON.stringify(name)}:${entry},"__metadata__":{"x:\\"{":"}:,"}}`
  expect(parse(text, 1)[0]!.name).toBe(name)
})

test('46,849 tensors parse quickly', () => {
  const tensors = Object.fromEntries(
    Array.from({ length: 46_849 }, (_, i) => [
      `model.layers.${i % 61}.mlp.experts.${i}.down_proj.weight`,
      { dtype: 'BF16', shape: [7, 3] },
    ]),
  )
  const { header, dataBytes } = headerOf(tensors)
  const text = JSON.stringify(header)
  const before = process.cpuUsage() // of the processor, not of the clock: other programs do not count
  expect(parseHeader('m.safetensors', text, 100, 100 + dataBytes)).toHaveLength(46_849)
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(3000)
})
