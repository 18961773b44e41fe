/** One pre-token, a word, to its ids. */

import { byteCharacters } from './byte-alphabet.js'
import type { BpeModel } from './bpe-model.js'
import { Merger } from './merger.js'
import type { Vocabulary } from './vocabulary.js'

/** Text repeats its words. The cache is emptied when full: that bounds it without bookkeeping. */
const cacheEntries = 16384
const cacheCharacters = 64

const missing = -1

export class WordEncoder {
  private readonly merger: Merger
  private readonly cache = new Map<string, readonly number[]>()
  /** byte → id of its character, of a byte-level vocabulary */
  private readonly byteIds: readonly number[]

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly model: BpeModel,
    private readonly byteLevel: boolean,
  ) {
    this.merger = new Merger(model.merges)
    this.byteIds = byteCharacters.map((character) => vocabulary.idOf(character) ?? missing)
  }

  /** The ids of `word`, which must be well-formed. Do not change the array. */
  encode(word: string): readonly number[] {
    const known = this.cache.get(word)
    if (known !== undefined) return known
    const bytes = Buffer.from(word, 'utf8')
    const ids = this.whole(word, bytes) ?? this.merger.merge(this.symbols(word, bytes))
    if (word.length <= cacheCharacters) {
      if (this.cache.size >= cacheEntries) this.cache.clear()
      // A copy: `word` may be a slice that keeps a megabyte of prompt alive.
      this.cache.set(bytes.toString('utf8'), ids)
    }
    return ids
  }

  private whole(word: string, bytes: Buffer): readonly number[] | null {
    if (!this.model.ignoreMerges) return null
    let content = word
    if (this.byteLevel) {
      content = ''
      for (const byte of bytes) content += byteCharacters[byte] as string
    }
    const id = this.vocabulary.idOf(content)
    return id === undefined ? null : [id]
  }

  private symbols(word: string, bytes: Buffer): number[] {
    const symbols: number[] = []
    if (this.byteLevel) {
      for (const byte of bytes) this.append(symbols, this.byteIds[byte] as number, null)
      return symbols
    }
    for (const character of word) {
      this.append(symbols, this.vocabulary.idOf(character) ?? missing, character)
    }
    return symbols
  }

  /** Appends a character's id, or what stands for one that has none. */
  private append(symbols: number[], id: number, character: string | null): void {
    const { byteFallback, unknownId, fuseUnknown } = this.model
    if (id !== missing) {
      symbols.push(id)
    } else if (byteFallback !== null && character !== null) {
      for (const byte of Buffer.from(character, 'utf8')) symbols.push(byteFallback[byte] as number)
    } else if (unknownId !== null && !(fuseUnknown && symbols.at(-1) === unknownId)) {
      symbols.push(unknownId)
    }
  }
}
