/**
 * The one door to the two text libraries. Both ship ES module types that a CommonJS build cannot
 * import, so what we use of them is declared here.
 */

import { createRequire } from 'node:module'

/** A node of a parsed template; its fields depend on its type. */
export interface JinjaNode {
  type: string
  [field: string]: unknown
}

export interface JinjaLibraryTemplate {
  readonly parsed: JinjaNode
  render(variables: Record<string, unknown>): string
}

interface JinjaLibrary {
  /** Parses on construction. `trim_blocks` and `lstrip_blocks` are on, as chat templates expect. */
  Template: new (source: string) => JinjaLibraryTemplate
}

interface TokenizersLibrary {
  SplitPreTokenizer: new (config: {
    type: 'Split'
    pattern: { Regex?: string; String?: string }
    behavior: 'Isolated'
    invert: boolean
  }) => { pattern: RegExp | null }
}

const load = createRequire(__filename)

/** Loaded at the first template: a model without one never needs it. */
export function jinja(): JinjaLibrary {
  return load('@huggingface/jinja') as JinjaLibrary
}

const { SplitPreTokenizer } = load('@huggingface/tokenizers') as TokenizersLibrary

/**
 * A global JavaScript RegExp for an Oniguruma pattern of tokenizer.json: `\s` is Unicode white
 * space, `(?i:…)` is spelled out (Node 20 has no inline flags), possessive quantifiers are plain.
 * Throws SyntaxError for what cannot be translated.
 */
export function translatePattern(pattern: { Regex: string } | { String: string }): RegExp {
  const split = new SplitPreTokenizer({
    type: 'Split',
    pattern,
    behavior: 'Isolated',
    invert: false,
  })
  if (split.pattern === null) throw new SyntaxError('neither a Regex nor a String')
  return split.pattern
}
