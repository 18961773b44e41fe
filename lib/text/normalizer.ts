/** The `normalizer` of tokenizer.json: text → text before anything is split. */

import { arrayAt, flagAt, invalid, objectAt, stringAt } from './json.js'
import { parsePattern } from './pattern.js'

export type Normalizer = (text: string) => string

const forms = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const

export function parseNormalizer(value: unknown, key = 'normalizer'): Normalizer {
  if (value === undefined || value === null) return (text) => text
  const config = objectAt(value, key)
  const type = stringAt(config.type, `${key}.type`)
  const form = forms.find((name) => name === type)
  if (form !== undefined) return (text) => text.normalize(form)

  switch (type) {
    case 'Sequence': {
      const list = arrayAt(config.normalizers, `${key}.normalizers`)
      const steps = list.map((step, at) => parseNormalizer(step, `${key}.normalizers[${at}]`))
      return (text) => steps.reduce((result, step) => step(result), text)
    }
    case 'Prepend': {
      const prefix = stringAt(config.prepend, `${key}.prepend`)
      return (text) => (text === '' ? '' : prefix + text)
    }
    case 'Replace': {
      const pattern = parsePattern(config.pattern, `${key}.pattern`)
      const content = stringAt(config.content, `${key}.content`)
      // A function, so that "$1" in the content is no reference.
      return (text) => text.replace(pattern, () => content)
    }
    case 'Strip': {
      const left = flagAt(config.strip_left, `${key}.strip_left`, true)
      const right = flagAt(config.strip_right, `${key}.strip_right`, true)
      return (text) => stripSpace(text, left, right)
    }
    default:
      throw invalid(`${key}.type`, `is "${type}", a normalizer octavo does not know`)
  }
}

/** Unicode white space; `trim` would take U+FEFF too. */
function stripSpace(text: string, left: boolean, right: boolean): string {
  const start = left ? text.search(/\P{White_Space}/u) : 0
  if (start === -1) return ''
  const stripped = text.slice(start)
  return right ? stripped.slice(0, stripped.length - trailingSpace(stripped)) : stripped
}

/** How many code units of white space end the text. */
export function trailingSpace(text: string): number {
  let end = text.length
  while (end > 0 && /\p{White_Space}/u.test(text[end - 1] as string)) end--
  return text.length - end
}
