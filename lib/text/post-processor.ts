/** The `post_processor` of tokenizer.json: which tokens go before and after a text. */

import { arrayAt, invalid, objectAt, stringAt, tokenIdAt, type JsonObject } from './json.js'

export interface Frame {
  before: readonly number[]
  after: readonly number[]
}

export function parsePostProcessor(value: unknown, key = 'post_processor'): Frame {
  if (value === undefined || value === null) return { before: [], after: [] }
  const config = objectAt(value, key)
  const type = stringAt(config.type, `${key}.type`)
  switch (type) {
    case 'ByteLevel': // changes offsets only
      return { before: [], after: [] }
    case 'TemplateProcessing':
      return parseTemplate(config, key)
    case 'BertProcessing':
    case 'RobertaProcessing': {
      const [cls, sep] = ['cls', 'sep'].map((name) => pairId(config[name], `${key}.${name}`))
      return { before: [cls as number], after: [sep as number] }
    }
    case 'Sequence': {
      const list = arrayAt(config.processors, `${key}.processors`)
      const frames = list.map((step, at) => parsePostProcessor(step, `${key}.processors[${at}]`))
      return {
        before: frames.toReversed().flatMap((frame) => frame.before),
        after: frames.flatMap((frame) => frame.after),
      }
    }
    default:
      throw invalid(`${key}.type`, `is "${type}", a post-processor octavo does not know`)
  }
}

/** `single`: special tokens around one `{ "Sequence": { "id": "A" } }`, the text. */
function parseTemplate(config: JsonObject, key: string): Frame {
  const items = arrayAt(config.single, `${key}.single`)
  const known = objectAt(config.special_tokens ?? {}, `${key}.special_tokens`)
  const parts = items.map((item, at) => templateIds(item, known, `${key}.single[${at}]`))
  const text = parts.indexOf(null)
  if (text === -1 || text !== parts.lastIndexOf(null)) {
    throw invalid(`${key}.single`, 'must hold the text ("Sequence") once')
  }
  const ids = (some: (readonly number[] | null)[]): number[] => some.flatMap((part) => part ?? [])
  return { before: ids(parts.slice(0, text)), after: ids(parts.slice(text + 1)) }
}

/** The ids of a special token of the template, or null for the text itself. */
function templateIds(value: unknown, known: JsonObject, key: string): readonly number[] | null {
  const item = objectAt(value, key)
  if (item['Sequence'] !== undefined) return null
  const name = stringAt(objectAt(item['SpecialToken'], `${key}.SpecialToken`)['id'], `${key}.id`)
  const token = objectAt(known[name], `post_processor.special_tokens["${name}"]`)
  return arrayAt(token.ids, `${key}.ids`).map((id) => tokenIdAt(id, `${key}.ids`))
}

/** `["[CLS]", 101]` */
function pairId(value: unknown, key: string): number {
  return tokenIdAt(arrayAt(value, key)[1], `${key}[1]`)
}
