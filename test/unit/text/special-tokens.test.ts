/** Beginning and end of a text: which ids they are, and who says so. */

import { loadText, type Tokenizer } from '../../../lib/text/index.js'
import { storiesFolder, storiesTokenizer, withFolder } from './fixtures'

async function tokenizerWith(
  files: Record<string, Record<string, unknown> | string | null>,
  use: (tokenizer: Tokenizer) => void,
): Promise<void> {
  await withFolder(files, async (folder) => {
    const text = await loadText(folder)
    expect(text).not.toBeNull()
    if (text !== null) use(text.tokenizer)
  })
}

test('the embedded model: ids of a text, its ends, no template', async () => {
  const text = await loadText(storiesFolder)
  expect(text?.tokenizer.encode('Once upon a time')).toEqual([1, 403, 407, 261, 378])
  expect(text?.tokenizer.encode('Once upon a time', { addSpecialTokens: false })).toEqual([
    403, 407, 261, 378,
  ])
  expect(text?.tokenizer.bosTokenId).toBe(1)
  expect(text?.tokenizer.eosTokenIds).toEqual([2])
  expect(text?.tokenizer.vocabularySize).toBe(512)
  expect(text?.template).toBeNull()
})

test('a token may be an object with its content', async () => {
  const config = { bos_token: { content: '<s>', lstrip: false }, eos_token: { content: '</s>' } }
  await tokenizerWith({ 'tokenizer_config.json': config }, (tokenizer) => {
    expect(tokenizer.bosTokenId).toBe(1)
    expect(tokenizer.eosTokenIds).toEqual([2])
  })
})

test('special_tokens_map.json fills what tokenizer_config.json leaves out', async () => {
  const files = {
    'tokenizer_config.json': { bos_token: null, eos_token: '</s>' },
    'special_tokens_map.json': { bos_token: '<s>', eos_token: '<unk>' },
  }
  await tokenizerWith(files, (tokenizer) => {
    expect(tokenizer.bosTokenId).toBe(1)
    expect(tokenizer.eosTokenIds).toEqual([2])
  })
})

test('without tokenizer_config.json there are none; the post-processor still adds its own', async () => {
  await tokenizerWith({ 'tokenizer_config.json': null }, (tokenizer) => {
    expect(tokenizer.bosTokenId).toBeNull()
    expect(tokenizer.eosTokenIds).toEqual([])
    expect(tokenizer.encode('Once upon a time')[0]).toBe(1)
  })
})

test('a named token that is in no vocabulary is none', async () => {
  const config = { bos_token: '<absent>', eos_token: '<absent>' }
  await tokenizerWith({ 'tokenizer_config.json': config }, (tokenizer) => {
    expect(tokenizer.bosTokenId).toBeNull()
    expect(tokenizer.eosTokenIds).toEqual([])
  })
})

test('added tokens beyond the vocabulary count, and ids may have gaps', async () => {
  const { added_tokens: known } = storiesTokenizer()
  const added = [...(known as unknown[]), { id: 600, content: '<|call|>', special: false }]
  await tokenizerWith(
    { 'tokenizer.json': storiesTokenizer({ added_tokens: added }) },
    (tokenizer) => {
      expect(tokenizer.vocabularySize).toBe(601)
      expect(tokenizer.encode('<|call|>', { addSpecialTokens: false })).toEqual([600])
      expect(tokenizer.decode([600, 550])).toBe('<|call|>')
      expect(tokenizer.detokenizer().push(550)).toBe('')
    },
  )
})

test('a token that only tokenizer_config.json calls special is special', async () => {
  const { added_tokens: known } = storiesTokenizer()
  const added = [...(known as unknown[]), { id: 512, content: '<|end|>', normalized: false }]
  const files = {
    'tokenizer.json': storiesTokenizer({ added_tokens: added }),
    'tokenizer_config.json': { eos_token: '<|end|>', additional_special_tokens: ['▁Lily'] },
  }
  await tokenizerWith(files, (tokenizer) => {
    expect(tokenizer.eosTokenIds).toEqual([512])
    const ids = tokenizer.encode('a▁Lily<|end|>', { addSpecialTokens: false })
    expect(ids.at(-1)).toBe(512)
    expect(tokenizer.decode(ids)).toBe('a')
    expect(tokenizer.decode(ids, { keepSpecialTokens: true })).toBe('a Lily<|end|>')
  })
})
