/** A tokenizer.json put to work. */

import { OctavoError } from '../errors.js'
import { invalid, isArray, OptionReader, reading } from '../options/reader.js'
import { AddedTokenFinder } from './added-tokens.js'
import { checkModelKind, parseBpeModel } from './bpe-model.js'
import { StreamDetokenizer } from './detokenizer.js'
import { objectAt, type JsonObject } from './json.js'
import { parseNormalizer, type Normalizer } from './normalizer.js'
import { parsePostProcessor, type Frame } from './post-processor.js'
import { parsePreTokenizer, type PreTokenizer } from './pre-tokenizer.js'
import type { SpecialTokens } from './special-tokens.js'
import { TokenBound } from './token-bound.js'
import { parseDecoder, TokenBytes, type DecoderRules } from './token-bytes.js'
import type { Detokenizer, Tokenizer } from './types.js'
import { Vocabulary } from './vocabulary.js'
import { WordEncoder } from './word-encoder.js'

interface EncodeOptions {
  addSpecialTokens?: boolean
}

interface DecodeOptions {
  keepSpecialTokens?: boolean
}

/** Half a surrogate pair is no character: it is read as U+FFFD, as UTF-8 encoders do. */
const loneSurrogate = /\p{Surrogate}/gu

function requireText(text: unknown): asserts text is string {
  if (typeof text === 'string') return
  throw new OctavoError('OCTAVO_INVALID_ARGUMENT', `text must be a string, not ${typeof text}`)
}

export class BpeTokenizer implements Tokenizer {
  readonly vocabularySize: number
  readonly bosTokenId: number | null
  readonly eosTokenIds: readonly number[]
  private readonly bound: TokenBound
  private readonly vocabulary: Vocabulary
  private readonly rawTokens: AddedTokenFinder
  private readonly normalizedTokens: AddedTokenFinder
  private readonly normalize: Normalizer
  private readonly preTokenizer: PreTokenizer
  private readonly words: WordEncoder
  private readonly frame: Frame
  private readonly decoderRules: DecoderRules
  private readonly bytes: TokenBytes

  /** Throws OCTAVO_TOKENIZER_INVALID for anything in `json` that is wrong or not supported. */
  constructor(json: JsonObject, special: SpecialTokens) {
    const model = objectAt(json.model, 'model')
    checkModelKind(model)
    const contents = objectAt(model.vocab, 'model.vocab')
    const vocabulary = new Vocabulary(contents, json.added_tokens, special.contents)
    const { added } = vocabulary
    this.vocabulary = vocabulary
    this.vocabularySize = vocabulary.size
    this.normalize = parseNormalizer(json.normalizer)
    this.preTokenizer = parsePreTokenizer(json.pre_tokenizer)
    const [raw, normalized] = [
      added.filter((t) => !t.normalized),
      added.filter((t) => t.normalized),
    ]
    this.rawTokens = new AddedTokenFinder(raw, (content) => content)
    this.normalizedTokens = new AddedTokenFinder(normalized, this.normalize)
    const bpe = parseBpeModel(model, vocabulary)
    this.words = new WordEncoder(vocabulary, bpe, this.preTokenizer.byteLevel)
    this.bound = new TokenBound(vocabulary, bpe, this.preTokenizer)
    this.frame = parsePostProcessor(json.post_processor)
    this.decoderRules = parseDecoder(json.decoder)
    this.bytes = new TokenBytes(vocabulary, this.decoderRules, this.normalize)
    const { bos_token: bos, eos_token: eos } = special.byName
    this.bosTokenId = bos === undefined ? null : (vocabulary.idOf(bos) ?? null)
    const eosId = eos === undefined ? undefined : vocabulary.idOf(eos)
    this.eosTokenIds = Object.freeze(eosId === undefined ? [] : [eosId])
  }

  encode(text: string, options?: EncodeOptions): number[] {
    requireText(text)
    const read = new OptionReader<EncodeOptions>(options, { addSpecialTokens: true })
    const addSpecialTokens = read.boolean('addSpecialTokens') ?? true
    const ids: number[] = addSpecialTokens ? [...this.frame.before] : []
    this.rawTokens.split(text.replace(loneSurrogate, '\ufffd')).forEach((section, at) => {
      if (typeof section === 'number') ids.push(section)
      else this.encodeSection(section, at === 0, ids)
    })
    if (addSpecialTokens) ids.push(...this.frame.after)
    return ids
  }

  get mostTokenBytes(): number {
    return this.bound.mostBytes
  }

  leastTokens(text: string): number {
    requireText(text)
    let least = 0
    const count = (section: string | number): void => {
      least += typeof section === 'number' ? 1 : this.bound.leastTokens(section)
    }
    for (const section of this.rawTokens.split(text.replace(loneSurrogate, '\ufffd'))) {
      if (typeof section === 'number') count(section)
      else this.normalizedTokens.split(this.normalize(section)).forEach(count)
    }
    return least
  }

  decode(ids: readonly number[], options?: DecodeOptions): string {
    const detokenizer = this.detokenizer(options)
    let text = ''
    for (const id of this.checkedIds(ids)) text += detokenizer.push(id)
    return text + detokenizer.flush()
  }

  detokenizer(options?: DecodeOptions): Detokenizer {
    const read = new OptionReader<DecodeOptions>(options, { keepSpecialTokens: true })
    const keep = read.boolean('keepSpecialTokens') ?? false
    return new StreamDetokenizer(this.vocabulary, this.bytes, this.decoderRules, keep)
  }

  /** A copy: what is checked is what is used. */
  private checkedIds(ids: unknown): readonly number[] {
    if (!isArray(ids) && !(ids instanceof Int32Array) && !(ids instanceof Uint32Array)) {
      throw invalid('ids', ids, 'an array of token ids')
    }
    const size = this.vocabularySize
    const list = reading('ids', () => Array.from(ids as ArrayLike<unknown>))
    for (const [at, id] of list.entries()) {
      if (Number.isInteger(id) && (id as number) >= 0 && (id as number) < size) continue
      throw invalid(`ids[${at}]`, id, `a token id of this tokenizer, 0 to ${size - 1}`)
    }
    return list as number[]
  }

  /** `text` lies between special tokens; tokens of the normalised text are found now. */
  private encodeSection(text: string, atStart: boolean, ids: number[]): void {
    this.normalizedTokens.split(this.normalize(text)).forEach((section, at) => {
      if (typeof section === 'number') {
        ids.push(section)
        return
      }
      for (const word of this.preTokenizer.split(section, atStart && at === 0)) {
        for (const id of this.words.encode(word)) ids.push(id)
      }
    })
  }
}
