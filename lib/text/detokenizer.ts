/** Tokens to text as they come. */

import { invalid } from '../options/reader.js'
import type { DecoderRules, TokenBytes } from './token-bytes.js'
import type { Detokenizer } from './types.js'
import type { Vocabulary } from './vocabulary.js'

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const nothing = Buffer.alloc(0)

/**
 * Holds back the bytes of an unfinished character and decodes the rest. Cutting before a lead
 * byte never changes what invalid bytes decode to, so the pieces add up to the whole exactly.
 */
export class StreamDetokenizer implements Detokenizer {
  private held: Buffer = nothing
  private toStrip: number

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly bytes: TokenBytes,
    private readonly rules: DecoderRules,
    private readonly keepSpecialTokens: boolean,
  ) {
    this.toStrip = rules.stripCount
  }

  push(id: number): string {
    const { size } = this.vocabulary
    if (!Number.isInteger(id) || id < 0 || id >= size) {
      throw invalid('id', id, `a token id of this tokenizer, 0 to ${size - 1}`)
    }
    if (!this.keepSpecialTokens && this.vocabulary.isSpecial(id)) return ''
    const bytes = this.bytes.of(id)
    const all = this.held.length === 0 ? bytes : Buffer.concat([this.held, bytes])
    const whole = all.length - unfinished(all)
    this.held = whole === all.length ? nothing : all.subarray(whole)
    return this.strip(decoder.decode(all.subarray(0, whole)))
  }

  flush(): string {
    const rest = decoder.decode(this.held)
    this.held = nothing
    return this.strip(rest)
  }

  /** Leaves out the space that SentencePiece puts before the first word. */
  private strip(text: string): string {
    if (this.toStrip === 0 || text === '') return text
    let rest = text
    while (this.toStrip > 0 && rest.startsWith(this.rules.stripped)) {
      rest = rest.slice(this.rules.stripped.length)
      this.toStrip--
    }
    if (rest !== '') this.toStrip = 0
    return rest
  }
}

/** How many bytes at the end begin a character that more bytes could complete. */
function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < sequenceLength(byte) ? back : 0
  }
  return 0
}

/** Bytes of a character by its lead byte; 1 for those that lead none (RFC 3629, section 4). */
function sequenceLength(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 2
  if (lead >= 0xe0 && lead <= 0xef) return 3
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 1
}
