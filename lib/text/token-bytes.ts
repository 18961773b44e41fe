/** What a token is in UTF-8, by the `decoder` of tokenizer.json. */

import { characterBytes } from './byte-alphabet.js'
import { arrayAt, countAt, invalid, objectAt, stringAt, type JsonObject } from './json.js'
import type { Normalizer } from './normalizer.js'
import type { Vocabulary } from './vocabulary.js'

export interface DecoderRules {
  /** Tokens are spelled in the byte alphabet. */
  byteLevel: boolean
  /** `<0xNN>` is one byte. */
  byteFallback: boolean
  /** Written for a space, such as `▁`; [what is written, what is meant]. */
  replacements: readonly (readonly [string, string])[]
  /** This many of `stripped` are left out at the beginning of the text. */
  stripCount: number
  stripped: string
}

const plain: DecoderRules = {
  byteLevel: false,
  byteFallback: false,
  replacements: [],
  stripCount: 0,
  stripped: ' ',
}

export function parseDecoder(value: unknown): DecoderRules {
  return parseStep(value, 'decoder', plain)
}

function parseStep(value: unknown, key: string, rules: DecoderRules): DecoderRules {
  if (value === undefined || value === null) return rules
  const config = objectAt(value, key)
  const type = stringAt(config.type, `${key}.type`)
  switch (type) {
    case 'ByteLevel':
      return { ...rules, byteLevel: true }
    case 'ByteFallback':
      return { ...rules, byteFallback: true }
    case 'Fuse': // the text is one piece here from the start
      return rules
    case 'Replace': {
      const pattern = objectAt(config.pattern, `${key}.pattern`)
      const from = stringAt(pattern['String'], `${key}.pattern.String`)
      const to = stringAt(config.content, `${key}.content`)
      return { ...rules, replacements: [...rules.replacements, [from, to]] }
    }
    case 'Strip':
      return { ...rules, ...parseStrip(config, key) }
    case 'Metaspace': {
      const mark = stringAt(config.replacement ?? '\u2581', `${key}.replacement`)
      const prefixed = config.prepend_scheme !== 'never' && config.add_prefix_space !== false
      return { ...rules, replacements: [[mark, ' ']], stripCount: prefixed ? 1 : 0 }
    }
    case 'Sequence': {
      const list = arrayAt(config.decoders, `${key}.decoders`)
      return list.reduce<DecoderRules>(
        (result, step, at) => parseStep(step, `${key}.decoders[${at}]`, result),
        rules,
      )
    }
    default:
      throw invalid(`${key}.type`, `is "${type}", a decoder octavo does not know`)
  }
}

function parseStrip(config: JsonObject, key: string): Partial<DecoderRules> {
  if (countAt(config.stop, `${key}.stop`, 0) !== 0) {
    throw invalid(`${key}.stop`, 'strips the end of the text, which a stream does not know')
  }
  const stripped = stringAt(config.content, `${key}.content`)
  return { stripped, stripCount: countAt(config.start, `${key}.start`, 0) }
}

const nothing = Buffer.alloc(0)
const byteToken = /^<0x([0-9A-Fa-f]{2})>$/

export class TokenBytes {
  private readonly known: Buffer[] = []

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly rules: DecoderRules,
    private readonly normalize: Normalizer,
  ) {}

  /** Found out when first asked for. Empty for an id that is no token. */
  of(id: number): Buffer {
    if (id >= this.vocabulary.size) return nothing
    return (this.known[id] ??= this.spell(id))
  }

  private spell(id: number): Buffer {
    let content = this.vocabulary.contentOf(id) ?? ''
    const added = this.vocabulary.addedToken(id)
    if (added?.normalized) {
      content = this.normalize(content) // what it stood for in the text, its `▁` included
    } else if (this.rules.byteLevel && added === undefined) {
      const bytes = Array.from(content, (character) => characterBytes.get(character))
      // As in the original, a token with one character of another alphabet is plain text.
      if (!bytes.includes(undefined)) return Buffer.from(bytes as number[])
    }
    for (const [from, to] of this.rules.replacements) content = content.replaceAll(from, () => to)
    const hex = this.rules.byteFallback ? byteToken.exec(content)?.[1] : undefined
    return hex === undefined ? Buffer.from(content, 'utf8') : Buffer.from(hex, 'hex')
  }
}
