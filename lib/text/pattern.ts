/** Patterns of tokenizer.json: `{ "Regex": … }` or `{ "String": … }`. */

import { invalid, objectAt } from './json.js'
import { translatePattern } from './libraries.js'

/** A global RegExp. Refuses what JavaScript cannot express, naming the pattern. */
export function parsePattern(value: unknown, key: string): RegExp {
  const { Regex, String: literal } = objectAt(value, key)
  try {
    if (typeof literal === 'string') return translatePattern({ String: literal })
    if (typeof Regex === 'string') return translatePattern({ Regex })
  } catch (error) {
    throw invalid(key, `is a pattern octavo cannot use: ${(error as Error).message}`)
  }
  throw invalid(key, 'must hold a Regex or a String')
}
