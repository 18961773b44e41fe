/** Ids, texts and chats as Hugging Face's own libraries give them (Python), for five tokenizers. */

import { loadText, type TextModel } from '../../../lib/text/index.js'
import {
  describeWith,
  folders,
  readGolden,
  type GoldenChat,
  type GoldenTokenizer,
} from './fixtures'
import { Library } from './library'

const golden = readGolden()

for (const [name, folder] of Object.entries(folders)) {
  describeWith(name, golden === null ? null : folder, (path) => {
    const { strings, chats, tokenizers } = golden as NonNullable<typeof golden>
    const expected = tokenizers[name] as GoldenTokenizer
    let text: TextModel
    let library: Library
    beforeAll(async () => {
      text = (await loadText(path)) as TextModel
      library = new Library(path)
    })

    test('the vocabulary has the same size', () => {
      expect(text.tokenizer.vocabularySize).toBe(expected.vocabulary)
    })

    test('every id of every string is the same', () => {
      expect(strings.length).toBe(265)
      const ids = strings.map((string) =>
        text.tokenizer.encode(string, { addSpecialTokens: false }),
      )
      expect(ids).toEqual(expected.ids)
    })

    test('special tokens are added as the post-processor says', () => {
      expect(text.tokenizer.encode('Hello, world!')).toEqual(expected.helloWithSpecial)
    })

    test('every string comes back', () => {
      const back = expected.ids.map((ids) =>
        text.tokenizer.decode(ids, { keepSpecialTokens: true }),
      )
      expect(back).toEqual(strings.map((string, at) => expected.notRoundTrip[at] ?? string))
    })

    test('decode equals the library with and without special tokens', () => {
      for (const keepSpecialTokens of [true, false]) {
        const ours = expected.ids.map((ids) => text.tokenizer.decode(ids, { keepSpecialTokens }))
        expect(ours).toEqual(expected.ids.map((ids) => library.decode(ids, keepSpecialTokens)))
      }
    })

    test('in every cut of every string, what was said so far is whole characters', () => {
      expected.ids.forEach((ids) => checkCuts(text, library, ids))
    })

    if (expected.rendered === undefined) {
      test('there is no template in the files', () => expect(text.template).toBeNull())
      return
    }
    test.each(Object.keys(chats))('chat "%s" renders the same', (chat) => {
      expect(render(text, chats[chat] as GoldenChat)).toBe(expected.rendered?.[chat])
    })
  })
}

/** Stops after each token in turn: said so far + what is left = the decoding of these tokens. */
function checkCuts(text: TextModel, library: Library, ids: number[]): void {
  const whole = library.decode(ids, true)
  const running = text.tokenizer.detokenizer({ keepSpecialTokens: true })
  let said = ''
  ids.forEach((id, at) => {
    const piece = running.push(id)
    said += piece
    if (!whole.includes('\ufffd')) expect(piece).not.toContain('\ufffd')
    expect(whole.startsWith(said)).toBe(true)
    const stopped = text.tokenizer.detokenizer({ keepSpecialTokens: true })
    for (const earlier of ids.slice(0, at + 1)) stopped.push(earlier)
    expect(said + stopped.flush()).toBe(library.decode(ids.slice(0, at + 1), true))
  })
  expect(said + running.flush()).toBe(whole)
}

function render(text: TextModel, chat: GoldenChat): string | undefined {
  const { messages, tools, add_generation_prompt: addGenerationPrompt = true, ...variables } = chat
  const options = { addGenerationPrompt, variables }
  return text.template?.render(messages, tools === undefined ? options : { ...options, tools })
}
