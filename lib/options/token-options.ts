/** The options that name tokens or text: logit biases, stop tokens, stop strings. */
import { types } from 'node:util'
import { OctavoError } from '../errors.js'
import type { GenerateOptions } from './generate-options.js'
import type { ModelLimits } from './model-limits.js'
import { invalid, isArray, isBag, reading, type OptionReader } from './reader.js'

type Reader = OptionReader<GenerateOptions>

function checkId(name: string, id: unknown, vocabularySize: number): number {
  if (Number.isInteger(id) && (id as number) >= 0 && (id as number) < vocabularySize)
    return id as number
  throw invalid(name, id, `a token id of this model, 0 to ${vocabularySize - 1}`)
}

/** Of any realm: a caller's Map may come from a vm context. */
const isMap = (value: unknown): value is Map<unknown, unknown> => types.isMap(value)

/** Only what an id is written like is one: '' and '1e1' are numbers to JavaScript too. */
const idOfKey = (key: string): unknown => (/^(0|[1-9]\d*)$/.test(key) ? Number(key) : key)

export function readBias(
  read: Reader,
  vocabularySize: number,
): { tokens: Int32Array; values: Float32Array } {
  const given = read.raw('logitBias')
  const bias = given === undefined ? {} : given
  if (!isMap(bias) && !isBag(bias)) {
    throw read.invalid('logitBias', 'an object or a Map from token id to bias')
  }
  const entries: [unknown, unknown][] = reading('logitBias', () =>
    isMap(bias) ? [...bias] : Object.entries(bias).map(([key, value]) => [idOfKey(key), value]),
  )
  for (const [id, value] of entries) {
    checkId('a token of logitBias', id, vocabularySize)
    const fits = typeof value === 'number' && !Number.isNaN(value) && Math.fround(value) < Infinity
    if (!fits) {
      throw invalid(`logitBias[${id as number}]`, value, 'a finite number in fp32 or -Infinity')
    }
  }
  return {
    tokens: Int32Array.from(entries, ([id]) => id as number),
    values: Float32Array.from(entries, ([, value]) => value as number),
  }
}

/** The model's EOS set, unless it is to be ignored, and the caller's own. */
export function readStopTokens(read: Reader, limits: ModelLimits): Int32Array {
  const given = read.raw('stopTokens')
  const own = given === undefined ? [] : given
  if (!isArray(own)) throw read.invalid('stopTokens', 'an array of token ids')
  // Copied: a hole is undefined there, and no method passes over it.
  const ids = reading('stopTokens', () => [...own]).map((id, i) =>
    checkId(`stopTokens[${i}]`, id, limits.vocabularySize),
  )
  const eos = read.boolean('ignoreEos') === true ? [] : limits.eosTokenIds
  return Int32Array.from(new Set([...eos, ...ids]))
}

export function readStopStrings(read: Reader, hasTokenizer: boolean): string[] {
  const stop = read.raw('stop')
  const given = stop === undefined ? [] : typeof stop === 'string' ? [stop] : stop
  const list = isArray(given) ? reading('stop', () => [...given]) : ['']
  const fits = list.every((text) => typeof text === 'string' && text.length > 0)
  if (!fits) throw read.invalid('stop', 'a non-empty string or an array of non-empty strings')
  if (list.length > 0 && !hasTokenizer) {
    throw new OctavoError(
      'OCTAVO_NO_TOKENIZER',
      'stop strings need a tokenizer and this model has none; pass stopTokens',
    )
  }
  return [...new Set(list as string[])]
}
