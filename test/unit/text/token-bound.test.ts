/** Whose tokens have a longest one, and whose do not. */
import { loadText } from '../../../lib/text/index.js'
import { storiesTokenizer, withFolder } from './fixtures'

const unbounded: Record<string, Record<string, unknown>> = {
  'white space is left out': { pre_tokenizer: { type: 'WhitespaceSplit' } },
  'what is no word is left out': { pre_tokenizer: { type: 'Whitespace' } },
  'a delimiter is left out': { pre_tokenizer: { type: 'Punctuation', behavior: 'Removed' } },
  'spaces become nothing': { pre_tokenizer: { type: 'Metaspace', replacement: '' } },
  'a run of unknown characters is one token': {
    model: { byte_fallback: false, unk_token: '<unk>', fuse_unk: true },
  },
  'characters without a token are dropped': { model: { byte_fallback: false, unk_token: null } },
}
const bounded: Record<string, Record<string, unknown>> = {
  'as the file is': {},
  'a delimiter is a word': { pre_tokenizer: { type: 'Punctuation', behavior: 'Isolated' } },
  'each unknown character is a token': {
    model: { byte_fallback: false, unk_token: '<unk>', fuse_unk: false },
  },
}

const text = '\u0416, \u4e2d!  '.repeat(100)

test.each(Object.keys(unbounded))('%s: no bound', async (name) => {
  await withFolder({ 'tokenizer.json': storiesTokenizer(unbounded[name]) }, async (folder) => {
    const { tokenizer } = (await loadText(folder))!
    expect(tokenizer.mostTokenBytes).toBe(Infinity)
    expect(tokenizer.leastTokens(text)).toBeLessThanOrEqual(tokenizer.encode(text).length)
  })
})

test.each(Object.keys(bounded))('%s: a bound', async (name) => {
  await withFolder({ 'tokenizer.json': storiesTokenizer(bounded[name]) }, async (folder) => {
    const { tokenizer } = (await loadText(folder))!
    expect(tokenizer.mostTokenBytes).toBeLessThan(100)
    const least = tokenizer.leastTokens(text)
    expect(least).toBeGreaterThanOrEqual(Buffer.byteLength(text) / tokenizer.mostTokenBytes)
    expect(least).toBeLessThanOrEqual(tokenizer.encode(text).length)
  })
})
