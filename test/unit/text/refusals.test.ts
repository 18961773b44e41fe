/** Broken and unsupported files: refused with a code, the file and the key. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { loadText } from '../../../lib/text/index.js'
import { storiesFolder, storiesTokenizer, withFolder } from './fixtures'

const refused = (code: string, words: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(words) as string }) as Error

async function expectRefusal(
  files: Parameters<typeof withFolder>[0],
  words: RegExp,
  code = 'OCTAVO_TOKENIZER_INVALID',
): Promise<void> {
  await withFolder(files, async (folder) => {
    await expect(loadText(folder)).rejects.toThrow(refused(code, words))
  })
}

test('a folder without tokenizer.json has no text', async () => {
  await withFolder({ 'tokenizer.json': null }, async (folder) => {
    expect(await loadText(folder)).toBeNull()
  })
})

test('a byte-order mark before a file is passed over', async () => {
  const marked = (file: string): string =>
    `\ufeff${readFileSync(join(storiesFolder, file), 'utf8')}`
  const plain = await loadText(storiesFolder)
  const files = ['tokenizer.json', 'tokenizer_config.json']
  await withFolder(
    Object.fromEntries(files.map((file) => [file, marked(file)])),
    async (folder) => {
      const text = await loadText(folder)
      expect(text?.tokenizer.encode('Once upon')).toEqual(plain?.tokenizer.encode('Once upon'))
    },
  )
  await expectRefusal({ 'tokenizer.json': '\ufeff\ufeff{}' }, /tokenizer\.json: not JSON/)
})

test('a folder that is none', async () => {
  const missing = loadText(join(storiesFolder, 'missing'))
  await expect(missing).rejects.toThrow(refused('OCTAVO_IO_FAILED', /missing/))
  const file = loadText(join(storiesFolder, 'config.json'))
  await expect(file).rejects.toThrow(refused('OCTAVO_IO_FAILED', /config\.json is a file/))
})

test('a file that cannot be read', async () => {
  await withFolder({ 'tokenizer_config.json': null }, async (folder) => {
    mkdirSync(join(folder, 'tokenizer_config.json'))
    await expect(loadText(folder)).rejects.toThrow(
      refused('OCTAVO_IO_FAILED', /cannot read .*tokenizer_config\.json/),
    )
  })
})

const textFiles = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'chat_template.json',
]

test.each(textFiles)('%s as a pipe is refused, not waited for', async (file) => {
  await withFolder({}, async (folder) => {
    rmSync(join(folder, file), { force: true })
    execFileSync('mkfifo', [join(folder, file)])
    const words = new RegExp(`cannot read .*${file}: it is not a regular file`)
    await expect(loadText(folder)).rejects.toThrow(refused('OCTAVO_IO_FAILED', words))
  })
})

test.each(textFiles)('%s as a link to an endless device is refused', async (file) => {
  await withFolder({}, async (folder) => {
    rmSync(join(folder, file), { force: true })
    symlinkSync('/dev/zero', join(folder, file))
    const words = new RegExp(`cannot read .*${file}: it is not a regular file`)
    await expect(loadText(folder)).rejects.toThrow(refused('OCTAVO_IO_FAILED', words))
  })
})

test.each(textFiles)('%s of gigabytes is refused before it is read', async (file) => {
  await withFolder({ [file]: '' }, async (folder) => {
    truncateSync(join(folder, file), 2 ** 32)
    const words = new RegExp(`${file} has 4294967296 bytes; at most 100000000 are read`)
    await expect(loadText(folder)).rejects.toThrow(refused('OCTAVO_TOKENIZER_INVALID', words))
  })
})

test.each(['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json'])(
  '%s broken or no object',
  async (file) => {
    for (const content of ['{"model": {"vocab": {"a"', '', '\u0000', '{} {}']) {
      await expectRefusal({ [file]: content }, new RegExp(`${file}: not JSON`))
    }
    for (const content of ['[]', 'null', '5', '"text"']) {
      await expectRefusal({ [file]: content }, new RegExp(`${file}: .*must be an object`))
    }
  },
)

test.each(['tokenizer.json', 'chat_template.jinja', 'additional_chat_templates'])(
  'a link %s to nothing is a broken file, not an absent one',
  async (file) => {
    const removed = file === 'tokenizer.json' ? { [file]: null } : {}
    await withFolder(removed, async (folder) => {
      symlinkSync(join(folder, 'nowhere'), join(folder, file))
      const words = new RegExp(`cannot read .*${file}: it is a link to a file that does not exist`)
      await expect(loadText(folder)).rejects.toThrow(refused('OCTAVO_IO_FAILED', words))
    })
  },
)

test.each([
  ['normalizer', 'normalizers'],
  ['pre_tokenizer', 'pretokenizers'],
  ['post_processor', 'processors'],
  ['decoder', 'decoders'],
])('a %s of 20,000 sequences in each other', async (part, steps) => {
  const levels = 20_000
  const nested = `{"type":"Sequence","${steps}":[`.repeat(levels) + ']}'.repeat(levels)
  const json = JSON.stringify(storiesTokenizer({ [part]: 'deep' })).replace('"deep"', nested)
  await expectRefusal(
    { 'tokenizer.json': json },
    /tokenizer\.json: nests more than 100 levels deep/,
  )
})

test.each<[unknown, RegExp]>([
  [5, /"chat_template" must be a string or a list of named templates, not number 5/],
  [{}, /"chat_template" must be a string or a list of named templates, not an object/],
  [[{ name: 'default' }], /"chat_template\[0\]\.template" is missing: it must be a string/],
])('a chat_template of %j', async (chat_template, words) => {
  await expectRefusal({ 'tokenizer_config.json': { chat_template } }, words)
})

const vocab = storiesTokenizer().model as Record<string, unknown>
const ids = vocab.vocab as Record<string, number>
const split = { type: 'Split', behavior: 'Isolated', pattern: { Regex: 'a' } }
const level = { type: 'ByteLevel' }

test.each<[string, Record<string, unknown>, RegExp]>([
  ['no model', { model: null, version: '1' }, /model/],
  ['a Unigram model', { model: { type: 'Unigram' } }, /"model.type" is "Unigram"/],
  ['a WordPiece model', { model: { type: 'WordPiece' } }, /"model.type" is "WordPiece"/],
  ['an end of word', { model: { end_of_word_suffix: '</w>' } }, /end_of_word_suffix/],
  ['no vocabulary', { model: { vocab: null } }, /"model.vocab" must be an object, not null/],
  ['an empty vocabulary', { model: { vocab: {}, merges: [] }, added_tokens: [] }, /is empty/],
  ['an id that is no number', { model: { vocab: { ...ids, x: '5' } } }, /"x" must be a token id/],
  ['a negative id', { model: { vocab: { ...ids, x: -1 } } }, /"x" must be a token id/],
  ['a huge id', { model: { vocab: { ...ids, x: 4e9 } } }, /"x" must be a token id/],
  ['one id twice', { model: { vocab: { ...ids, xyz: 5 } } }, /"xyz" has id 5, which/],
  ['an unknown token that is unknown', { model: { unk_token: '<what>' } }, /<what>/],
  ['merges that are no list', { model: { merges: {} } }, /"model.merges" must be an array/],
  ['a merge of one', { model: { merges: ['ab'] } }, /"model.merges\[0\]" must be two tokens/],
  ['a merge of three', { model: { merges: [['a', 'b', 'c']] } }, /must be two tokens/],
  ['a merge of nothing known', { model: { merges: ['q zz'] } }, /joins "q" and "zz"/],
  ['a flag that is none', { model: { byte_fallback: 'yes' } }, /byte_fallback" must be true or/],
  ['added tokens that are no list', { added_tokens: {} }, /"added_tokens" must be an array/],
  ['an added token that is empty', { added_tokens: [{ id: 600, content: '' }] }, /is empty/],
  ['an added token in two places', { added_tokens: [{ id: 600, content: '<s>' }] }, /two ids/],
  ['an added token on a taken id', { added_tokens: [{ id: 5, content: 'new' }] }, /has id 5/],
  ['an unknown normalizer', { normalizer: { type: 'Nmt' } }, /"normalizer.type" is "Nmt"/],
  [
    'a normalizer of no type',
    { normalizer: {} },
    /"normalizer.type" is missing: it must be a string/,
  ],
  ['an unknown pre-tokenizer', { pre_tokenizer: { type: 'UnicodeScripts' } }, /UnicodeScripts/],
  ['an unknown behavior', { pre_tokenizer: { ...split, behavior: 'toString' } }, /toString/],
  ['a pattern that is none', { pre_tokenizer: { ...split, pattern: {} } }, /a Regex or a String/],
  ['a broken pattern', { pre_tokenizer: { ...split, pattern: { Regex: '(' } } }, /cannot use/],
  [
    'steps after ByteLevel',
    { pre_tokenizer: { type: 'Sequence', pretokenizers: [level, split] } },
    /after ByteLevel/,
  ],
  ['an unknown post-processor', { post_processor: { type: 'X' } }, /"post_processor.type" is "X"/],
  [
    'a template without the text',
    { post_processor: { type: 'TemplateProcessing', single: [] } },
    /must hold the text/,
  ],
  [
    'a template with an unknown token',
    {
      post_processor: {
        type: 'TemplateProcessing',
        single: [{ SpecialToken: { id: '<x>' } }, { Sequence: { id: 'A' } }],
      },
    },
    /special_tokens\["<x>"\]/,
  ],
  ['an unknown decoder', { decoder: { type: 'CTC' } }, /"decoder.type" is "CTC"/],
  [
    'a decoder that strips the end',
    { decoder: { type: 'Strip', content: ' ', start: 0, stop: 1 } },
    /strips the end/,
  ],
])('%s', async (_name, change, words) => {
  const json = storiesTokenizer(change)
  if (change.model === null) json.model = null
  await expectRefusal({ 'tokenizer.json': json }, words)
  await expectRefusal({ 'tokenizer.json': json }, /tokenizer\.json: "/)
})
