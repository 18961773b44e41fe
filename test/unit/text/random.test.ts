/** Random text and random ids, against an independent implementation of the same files. */

import { loadText, type Tokenizer } from '../../../lib/text/index.js'
import { describeWith, folders, randomNumbers, storiesFolder } from './fixtures'
import { Library } from './library'

const cases = 300

function suite(folder: string, libraryDiffers: RegExp | null): void {
  let tokenizer: Tokenizer
  let library: Library
  beforeAll(async () => {
    tokenizer = (await loadText(folder))?.tokenizer as Tokenizer
    library = new Library(folder)
  })

  test('encode gives the ids that the library gives', () => {
    const random = randomNumbers(11)
    for (let turn = 0; turn < cases; turn++) {
      const text = randomText(random).replaceAll(libraryDiffers ?? /(?!)/g, '')
      const ids = tokenizer.encode(text, { addSpecialTokens: false })
      expect([text, ids]).toEqual([text, library.encode(text)])
    }
  })

  test('leastTokens is at most what encode gives, and no mere 0', () => {
    const random = randomNumbers(17)
    expect(tokenizer.mostTokenBytes).toBeLessThan(Infinity)
    for (let turn = 0; turn < cases; turn++) {
      const ids = randomIds(random, tokenizer.vocabularySize)
      const text = turn % 2 === 0 ? randomText(random) : tokenizer.decode(ids).repeat(9)
      const least = tokenizer.leastTokens(text)
      const bytes = Buffer.byteLength(text)
      expect(least).toBeLessThanOrEqual(tokenizer.encode(text, { addSpecialTokens: false }).length)
      // Normal forms of text are at least a ninth of it.
      expect(least).toBeGreaterThanOrEqual(Math.floor(bytes / 9 / tokenizer.mostTokenBytes))
    }
  })

  test.each([true, false])('pieces add up to the decoding of all ids (keep: %p)', (keep) => {
    const random = randomNumbers(13)
    for (let turn = 0; turn < cases; turn++) {
      const ids = randomIds(random, tokenizer.vocabularySize)
      const options = { keepSpecialTokens: keep }
      const detokenizer = tokenizer.detokenizer(options)
      const pieces = [...ids.map((id) => detokenizer.push(id)), detokenizer.flush()]
      const whole = library.decode(ids, keep)
      expect([ids, pieces.join('')]).toEqual([ids, whole])
      expect(tokenizer.decode(ids, options)).toBe(whole)
      // A piece ends where a character ends: its U+FFFD are those of the whole, none is its own.
      const replaced = (text: string): number => text.split('\ufffd').length - 1
      expect(pieces.reduce((sum, piece) => sum + replaced(piece), 0)).toBe(replaced(whole))
      for (const piece of pieces) expect(/\p{Surrogate}/u.test(piece)).toBe(false)
    }
  })
}

function randomText(random: (below: number) => number): string {
  const ranges = [
    [0x20, 0x60],
    [0x20, 0x01],
    [0x61, 0x1a],
    [0x00, 0x250],
    [0x300, 0x40],
    [0x900, 0x80],
    [0x2000, 0x200],
    [0x3000, 0x100],
    [0x4e00, 0x100],
    [0xac00, 0x100],
    [0x1f600, 0x50],
  ] as const
  let text = ''
  for (let left = 1 + random(40); left > 0; left--) {
    const [first, count] = ranges[random(ranges.length)] as readonly [number, number]
    text += String.fromCodePoint(first + random(count))
  }
  return text
}

/** Ids of pieces of characters are common among the first few hundred of every vocabulary. */
function randomIds(random: (below: number) => number, size: number): number[] {
  return Array.from({ length: 1 + random(24) }, () => random(random(2) === 0 ? 300 : size))
}

// Where the library itself errs (see lib/text/pre-tokenizer.ts): its Digits knows ASCII digits
// only, its ByteLevel splits at JavaScript's white space instead of Unicode's.
const smollm2Differs = /(?![0-9])\p{N}|[\ufeff\u0085]/gu

describe('stories260k', () => suite(storiesFolder, null))
describeWith('smollm2', folders.smollm2 ?? null, (folder) => suite(folder, smollm2Differs))
describeWith('llama-3.1', folders['llama-3.1'] ?? null, (folder) => suite(folder, null))
describeWith('qwen3', folders.qwen3 ?? null, (folder) => suite(folder, null))
describeWith('deepseek-v3', folders['deepseek-v3'] ?? null, (folder) => suite(folder, null))
