/** How few tokens a text can have, from its bytes alone: no tokenizer needs to run to see that it is too long. */

import { byteCharacters } from './byte-alphabet.js'
import type { BpeModel } from './bpe-model.js'
import type { PreTokenizer } from './pre-tokenizer.js'
import type { Vocabulary } from './vocabulary.js'

/** UTF-8 bytes of a character, which one unknown token may stand for. */
const characterBytes = 4

export class TokenBound {
  /**
   * Most bytes of normalised text that one token stands for; Infinity where that has no bound: white space is left out,
   * a run of unknown characters is one token, or characters that have none are dropped.
   */
  readonly mostBytes: number
  /** Bytes that have no token, 1 each: they count for nothing. Some vocabularies lack those of rare scripts. */
  private readonly dropped: Uint8Array | null = null

  constructor(vocabulary: Vocabulary, model: BpeModel, preTokenizer: PreTokenizer) {
    const { byteLevel, removes } = preTokenizer
    const hasEvery = model.byteFallback !== null || (model.unknownId !== null && !model.fuseUnknown)
    if (byteLevel) this.dropped = bytesWithout(vocabulary)
    this.mostBytes =
      removes || !(byteLevel || hasEvery) ? Infinity : longestToken(vocabulary, byteLevel)
  }

  /** Of text between added tokens. O(bytes). */
  leastTokens(text: string): number {
    return Math.ceil(this.countBytes(text) / this.mostBytes)
  }

  private countBytes(text: string): number {
    const { dropped } = this
    if (dropped === null) return Buffer.byteLength(text)
    let count = 0
    for (const byte of Buffer.from(text)) count += 1 - (dropped[byte] as number)
    return count
  }
}

/** null: none. */
function bytesWithout(vocabulary: Vocabulary): Uint8Array | null {
  const lacks = byteCharacters.map((character) => vocabulary.idOf(character) === undefined)
  return lacks.includes(true) ? Uint8Array.from(lacks, Number) : null
}

function longestToken(vocabulary: Vocabulary, byteLevel: boolean): number {
  let most = characterBytes
  for (let id = 0; id < vocabulary.size; id++) {
    const content = vocabulary.contentOf(id) ?? ''
    // In the byte alphabet a character is a byte.
    most = Math.max(most, byteLevel ? content.length : Buffer.byteLength(content))
  }
  return most
}
