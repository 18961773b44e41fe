/** @huggingface/tokenizers as a second opinion: an implementation that shares no code with ours. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

interface LibraryTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] }
  decode(ids: number[], options: object): string
}

type Constructor = new (tokenizer: object, config: object) => LibraryTokenizer

const { Tokenizer } = createRequire(__filename)('@huggingface/tokenizers') as {
  Tokenizer: Constructor
}

export class Library {
  private readonly tokenizer: LibraryTokenizer

  constructor(folder: string) {
    const json = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8')) as object
    this.tokenizer = new Tokenizer(json, {})
  }

  encode(text: string): number[] {
    return this.tokenizer.encode(text, { add_special_tokens: false }).ids
  }

  /** It throws for no tokens and cleans up spaces unless told. */
  decode(ids: number[], keepSpecialTokens: boolean): string {
    if (ids.length === 0) return ''
    return this.tokenizer.decode(ids, {
      skip_special_tokens: !keepSpecialTokens,
      clean_up_tokenization_spaces: false,
    })
  }
}
