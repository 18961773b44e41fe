/** How few tokens a text can have, from its bytes alone: no tokenizer needs to run to see that it is too long. */

import { byteCharacters } from './byte-alphabet.js'
import type { BpeModel } from './bpe-model.js'
import type { PreTokenizer } from './pre-tokenizer.js'
import type { Vocabulary } from './vocabulary.js'

/** UTF-8 bytes of a character, which one unknown token may stand for. */
const characterBytes = 4

/**
 * Most bytes of normalised text that one token stands for; Infinity where that has no bound: white space is left out,
 * a run of unknown characters is one token, or characters that have none are dropped.
 */
export function mostTokenBytes(
  vocabulary: Vocabulary,
  model: BpeModel,
  preTokenizer: PreTokenizer,
): number {
  const { byteLevel, removes } = preTokenizer
  const hasEvery = byteLevel
    ? byteCharacters.every((character) => vocabulary.idOf(character) !== undefined)
    : model.byteFallback !== null || (model.unknownId !== null && !model.fuseUnknown)
  if (removes || !hasEvery) return Infinity
  let most = characterBytes
  for (let id = 0; id < vocabulary.size; id++) {
    const content = vocabulary.contentOf(id) ?? ''
    // In the byte alphabet a character is a byte.
    most = Math.max(most, byteLevel ? content.length : Buffer.byteLength(content))
  }
  return most
}
