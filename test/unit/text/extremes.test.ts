/** Input nobody sends on purpose: it gives an answer, in time that grows with its length only. */

import { loadText, type Tokenizer } from '../../../lib/text/index.js'
import { describeWith, folders, storiesFolder } from './fixtures'

const mebibyte = 2 ** 20

/** A quadratic step over a mebibyte takes hours; the slowest here takes a second. */
const limitMs = 60000

const long = ['a', ' ', '\n']
const shorter = ['0', '.', 'é', '中', '🙂', '\0', '\ud800', ' a', '\n a', '<|', "'s"]
const lengths = [
  ...long.map((unit) => [unit, mebibyte] as const),
  ...shorter.map((unit) => [unit, mebibyte / 16] as const),
]

function suite(folder: string): void {
  let tokenizer: Tokenizer
  const encode = (text: string): number[] => tokenizer.encode(text, { addSpecialTokens: false })
  const keep = { keepSpecialTokens: true }
  beforeAll(async () => {
    tokenizer = (await loadText(folder))?.tokenizer as Tokenizer
  })

  test.each(lengths)(
    'only %j, %d code units',
    (unit, length) => {
      const text = unit.repeat(length / unit.length)
      const before = process.cpuUsage()
      const ids = encode(text)
      const back = tokenizer.decode(ids, keep)
      // Time of the processor, not of the clock: other programs do not count.
      expect(process.cpuUsage(before).user / 1000).toBeLessThan(limitMs)
      expect(back === text.replaceAll('\ud800', '\ufffd')).toBe(true)
    },
    10 * limitMs,
  )

  test('nothing', () => {
    expect(encode('')).toEqual([])
    expect(tokenizer.decode([])).toBe('')
    expect(tokenizer.detokenizer().flush()).toBe('')
  })

  test.each([
    ['a lone high surrogate', 'a\ud83d b', 'a\ufffd b'],
    ['a lone low surrogate', 'a\ude42', 'a\ufffd'],
    ['a pair the wrong way round', '\ude42\ud83d', '\ufffd\ufffd'],
    ['NUL', 'a\0b\0\0', 'a\0b\0\0'],
    ['a byte order mark', '\ufeffa\ufeff', '\ufeffa\ufeff'],
    ['noncharacters', '\uffff\u{10ffff}', '\uffff\u{10ffff}'],
  ])('%s', (_name, text, back) => {
    expect(tokenizer.decode(encode(text), keep)).toBe(back)
    expect(encode(text)).toEqual(encode(back))
  })

  test.each([-1, 1.5, NaN, Infinity, '5', null])('%p is no token id', (id) => {
    const push = (): string => tokenizer.decode([id as number])
    expect(push).toThrow(expect.objectContaining({ code: 'OCTAVO_INVALID_ARGUMENT' }))
  })

  test.each([5, null, undefined])('%p is no text', (text) => {
    const call = (): number[] => encode(text as unknown as string)
    expect(call).toThrow(expect.objectContaining({ code: 'OCTAVO_INVALID_ARGUMENT' }))
  })

  test('an id beyond the vocabulary is refused, by decode and in a stream', () => {
    const refused = expect.objectContaining({ code: 'OCTAVO_INVALID_ARGUMENT' }) as Error
    for (const id of [tokenizer.vocabularySize, 1e9]) {
      expect(() => tokenizer.decode([id])).toThrow(refused)
      expect(() => tokenizer.detokenizer().push(id)).toThrow(refused)
    }
    for (const id of [Symbol('x'), Object.create(null)] as unknown[]) {
      expect(() => tokenizer.detokenizer().push(id as number)).toThrow(refused)
    }
  })
}

describe('stories260k', () => suite(storiesFolder))
describeWith('smollm2', folders.smollm2 ?? null, suite)
describeWith('qwen3', folders.qwen3 ?? null, suite)
