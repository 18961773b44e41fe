/** Text in and out: what the engine needs of a tokenizer, a chat template and a detokenizer. */

import type { OctavoError } from '../errors.js'

export interface Tokenizer {
  /** Ids below this exist. */
  readonly vocabularySize: number
  readonly bosTokenId: number | null
  readonly eosTokenIds: readonly number[]
  /** Special tokens written in the text are recognised; `addSpecialTokens` (default true) adds BOS and the like. */
  encode(text: string, options?: { addSpecialTokens?: boolean }): number[]
  /**
   * So many ids `encode` gives for the text at least, special tokens of its frame not counted: told from the bytes of the
   * normalised text, as no token stands for more than `mostTokenBytes` of them. O(text), and nothing is encoded. Where a
   * token may stand for any number of bytes (white space that is left out, say) it counts the special tokens alone.
   */
  leastTokens(text: string): number
  /** Most bytes of normalised text that one token stands for; Infinity: there is no such number. */
  readonly mostTokenBytes: number
  /**
   * Lossless: no clean-up of spaces. Special tokens are left out unless `keepSpecialTokens`. An id of
   * `vocabularySize` or more is refused with OCTAVO_INVALID_ARGUMENT.
   */
  decode(ids: readonly number[], options?: { keepSpecialTokens?: boolean }): string
  /** A fresh incremental detokenizer: the concatenation of its pieces equals `decode` of all its ids. */
  detokenizer(options?: { keepSpecialTokens?: boolean }): Detokenizer
}

export interface Detokenizer {
  /**
   * Text that this token completes: '' while a character is unfinished, never half a character. '' for an id that
   * no token has; one of `vocabularySize` or more is refused with OCTAVO_INVALID_ARGUMENT.
   */
  push(id: number): string
  /** What is left at the end: unfinished bytes become U+FFFD. */
  flush(): string
}

export interface ChatMessage {
  role: string
  content: string | null | readonly unknown[]
  [key: string]: unknown
}

export interface ChatTemplateOptions {
  /** default true */
  addGenerationPrompt?: boolean
  tools?: readonly unknown[]
  /** Anything else the template reads, such as `enable_thinking`. */
  variables?: Record<string, unknown>
}

export interface ChatTemplate {
  /** Why no conversation can be rendered, an OCTAVO_TEMPLATE_FAILED; null where one can. */
  readonly problem: OctavoError | null
  /** Throws OCTAVO_TEMPLATE_FAILED: the `problem`, or the template's own words. */
  render(messages: readonly ChatMessage[], options?: ChatTemplateOptions): string
}

export interface TextModel {
  tokenizer: Tokenizer
  template: ChatTemplate | null
}
