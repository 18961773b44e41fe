/** The `pre_tokenizer` of tokenizer.json: normalised text → words, which merges never cross. */

import { arrayAt, flagAt, invalid, objectAt, stringAt, type JsonObject } from './json.js'
import { translatePattern } from './libraries.js'
import { parsePattern } from './pattern.js'
import { makeSplitter, type Splitter } from './splitter.js'

/** A step of splitting; `atStart`: the text is the beginning of the whole input. */
type Step = (text: string, atStart: boolean) => string[]

export interface PreTokenizer {
  /** Words are spelled in the byte alphabet: their bytes are looked up, not their characters. */
  byteLevel: boolean
  /** Some text is in no word. */
  removes: boolean
  split: Step
}

/** GPT-2's pattern, which ByteLevel applies unless `use_regex` is false. */
const gpt2Pattern =
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

export function parsePreTokenizer(value: unknown): PreTokenizer {
  const configs = flatten(value, 'pre_tokenizer')
  const levels = configs.map(({ config }) => config.type === 'ByteLevel')
  if (levels.slice(0, -1).includes(true)) {
    throw invalid('pre_tokenizer', 'has steps after ByteLevel; octavo reads it as the last only')
  }
  const steps = configs.map(({ config, key }) => parseStep(config, key))
  return {
    byteLevel: levels.at(-1) === true,
    removes: configs.some(({ config }) => removesText(config)),
    split: (text, atStart) =>
      steps.reduce(
        (words, step) => words.flatMap((word, at) => step(word, atStart && at === 0)),
        [text],
      ),
  }
}

/** Sequences, nested or not, as one list. */
function flatten(value: unknown, key: string): { config: JsonObject; key: string }[] {
  if (value === undefined || value === null) return []
  const config = objectAt(value, key)
  if (config.type !== 'Sequence') return [{ config, key }]
  const list = arrayAt(config.pretokenizers, `${key}.pretokenizers`)
  return list.flatMap((step, at) => flatten(step, `${key}.pretokenizers[${at}]`))
}

const removesText = ({ type, behavior, replacement }: JsonObject): boolean =>
  behavior === 'Removed' ||
  type === 'Whitespace' ||
  type === 'WhitespaceSplit' ||
  (type === 'Metaspace' && replacement === '')

function parseStep(config: JsonObject, key: string): Step {
  const type = stringAt(config.type, `${key}.type`)
  switch (type) {
    case 'Split': {
      const pattern = parsePattern(config.pattern, `${key}.pattern`)
      const behavior = stringAt(config.behavior, `${key}.behavior`)
      return makeSplitter(pattern, behavior, flagAt(config.invert, `${key}.invert`, false), key)
    }
    case 'Digits': {
      // Every Unicode number is a digit here, ½ and Ⅳ too (Rust's `char::is_numeric`).
      const single = flagAt(config.individual_digits, `${key}.individual_digits`, false)
      return makeSplitter(/\p{N}/gu, single ? 'Isolated' : 'Contiguous', false, key)
    }
    case 'Punctuation': {
      const behavior = config.behavior ?? 'Isolated'
      const pattern = /[\p{P}!-/:-@[-`{-~]/gu
      return makeSplitter(pattern, stringAt(behavior, `${key}.behavior`), false, key)
    }
    case 'WhitespaceSplit':
      return makeSplitter(/\p{White_Space}/gu, 'Removed', false, key)
    case 'Whitespace':
      return makeSplitter(translatePattern({ Regex: '\\w+|[^\\w\\s]+' }), 'Removed', true, key)
    case 'Metaspace':
      return metaspace(config, key)
    case 'ByteLevel':
      return byteLevel(config, key)
    default:
      throw invalid(`${key}.type`, `is "${type}", a pre-tokenizer octavo does not know`)
  }
}

function byteLevel(config: JsonObject, key: string): Step {
  const prefix = flagAt(config.add_prefix_space, `${key}.add_prefix_space`, false)
  const useRegex = flagAt(config.use_regex, `${key}.use_regex`, true)
  const pattern = translatePattern({ Regex: gpt2Pattern })
  const split: Splitter = useRegex
    ? makeSplitter(pattern, 'Isolated', false, key)
    : (text) => [text]
  return (text) => split(prefix && !text.startsWith(' ') ? ` ${text}` : text)
}

/** SentencePiece's spaces: replaced by `▁`, one put in front, words begin at each. */
function metaspace(config: JsonObject, key: string): Step {
  const mark = stringAt(config.replacement ?? '\u2581', `${key}.replacement`)
  const legacy = flagAt(config.add_prefix_space, `${key}.add_prefix_space`, true)
  const scheme = config.prepend_scheme ?? (legacy ? 'always' : 'never')
  if (scheme !== 'always' && scheme !== 'first' && scheme !== 'never') {
    throw invalid(`${key}.prepend_scheme`, `is ${JSON.stringify(scheme)}, unknown to octavo`)
  }
  const separate = flagAt(config.split, `${key}.split`, true)
  const pattern = parsePattern({ String: mark }, `${key}.replacement`)
  const split = makeSplitter(pattern, 'MergedWithNext', false, key)
  return (text, atStart) => {
    const marked = text.replaceAll(' ', () => mark)
    const prepend = scheme === 'always' || (scheme === 'first' && atStart)
    const whole = prepend && !marked.startsWith(mark) ? mark + marked : marked
    return separate ? split(whole) : [whole]
  }
}
