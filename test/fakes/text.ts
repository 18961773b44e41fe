/** A tokenizer over a list of words: token i is word i. */
import type { Detokenizer, TextModel, Tokenizer } from '../../lib/text/types.js'

class WordDetokenizer implements Detokenizer {
  readonly #words: readonly string[]

  constructor(words: readonly string[]) {
    this.#words = words
  }

  push(id: number): string {
    const word = this.#words[id]
    if (word === undefined) throw new Error(`no word ${id}`)
    return word
  }

  flush(): string {
    return ''
  }
}

export function wordText(words: readonly string[]): TextModel {
  const tokenizer: Tokenizer = {
    vocabularySize: words.length,
    bosTokenId: null,
    eosTokenIds: [],
    mostTokenBytes: 4,
    leastTokens: (text) => Math.ceil(Buffer.byteLength(text) / 4),
    encode: (text) => text.split('').map((letter) => words.indexOf(letter)),
    decode: (ids) => ids.map((id) => words[id]).join(''),
    detokenizer: () => new WordDetokenizer(words),
  }
  return { tokenizer, template: null }
}
