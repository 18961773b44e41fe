/** Parts of tokenizer.json one at a time, against Hugging Face's tokenizers (see the script). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadText } from '../../../lib/text/index.js'
import { storiesTokenizer, withFolder } from './fixtures'

interface Variant {
  change: Record<string, unknown>
  strings: string[]
  ids: number[][]
  texts: string[]
}

// scripts/goldens/tokenizer_variants.py wrote it.
const { variants } = JSON.parse(readFileSync(join(__dirname, 'variants.json'), 'utf8')) as {
  variants: Record<string, Variant>
}

test.each(Object.keys(variants))('%s', async (name) => {
  const { change, strings, ids, texts } = variants[name] as Variant
  await withFolder({ 'tokenizer.json': storiesTokenizer(change) }, async (folder) => {
    const text = await loadText(folder)
    expect(strings.map((string) => text?.tokenizer.encode(string))).toEqual(ids)
    expect(ids.map((row) => text?.tokenizer.decode(row))).toEqual(texts)
    for (const string of strings.flatMap((each) => [each, each.repeat(40)])) {
      const tokens = text!.tokenizer.encode(string).length
      expect([string, text!.tokenizer.leastTokens(string) <= tokens]).toEqual([string, true])
    }
  })
})
