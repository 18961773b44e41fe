/** Prompts and messages become token ids. */
import { OctavoError } from './errors.js'
import type { Prompt } from './options/generate-options.js'
import { checkPromptLength } from './options/generate-settings.js'
import type { ModelLimits } from './options/model-limits.js'
import { invalid, isArray, reading } from './options/reader.js'
import { requireTree } from './options/tree.js'
import type { ChatMessage, ChatTemplateOptions, TextModel, Tokenizer } from './text/types.js'

/** A copy: what is checked is what is used, whoever shares the caller's array. */
function checkedIds(given: ArrayLike<unknown>, length: number, vocabularySize: number): Int32Array {
  const ids = reading('prompt', () => Array.from({ length }, (_, i) => given[i]))
  ids.forEach((id, i) => {
    if (Number.isInteger(id) && (id as number) >= 0 && (id as number) < vocabularySize) return
    throw invalid(`prompt[${i}]`, id, `a token id of this model, 0 to ${vocabularySize - 1}`)
  })
  return Int32Array.from(ids as number[])
}

/** A text that is certainly too long is not encoded, which takes seconds for some megabytes. */
function encodeWithin(
  text: string,
  tokenizer: Tokenizer,
  most: number,
  limits: ModelLimits,
  options?: { addSpecialTokens?: boolean },
): number[] {
  const least = text.length > most ? tokenizer.leastTokens(text) : 0
  if (least <= most) return tokenizer.encode(text, options)
  throw new OctavoError(
    'OCTAVO_CONTEXT_EXCEEDED',
    `the prompt has ${Buffer.byteLength(text)} bytes, at least ${least} tokens, of which none stands for more ` +
      `than ${tokenizer.mostTokenBytes} bytes, and this model's context is ${limits.contextLength}; ` +
      `shorten the prompt to at most ${most} tokens`,
  )
}

const isIds = (prompt: unknown): prompt is ArrayLike<unknown> =>
  isArray(prompt) || (ArrayBuffer.isView(prompt) && !(prompt instanceof DataView))

/**
 * Throws OCTAVO_NO_TOKENIZER for text without one, OCTAVO_INVALID_ARGUMENT for ids that do not exist or none,
 * OCTAVO_CONTEXT_EXCEEDED for more than `most`, before any is looked at.
 */
export function promptIds(
  prompt: Prompt,
  text: TextModel | null,
  limits: ModelLimits,
  most = limits.contextLength,
): Int32Array {
  if (typeof prompt !== 'string' && !isIds(prompt)) {
    throw invalid('prompt', prompt, 'a string, or an array or typed array of token ids')
  }
  if (typeof prompt === 'string' && text === null) {
    throw new OctavoError(
      'OCTAVO_NO_TOKENIZER',
      'the prompt is text and this model has no tokenizer.json; pass token ids',
    )
  }
  const ids =
    typeof prompt === 'string' ? encodeWithin(prompt, text!.tokenizer, most, limits) : prompt
  const length = reading('prompt.length', () => ids.length)
  if (length === 0) {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      'the prompt has no tokens; it needs at least one',
    )
  }
  if (!Number.isSafeInteger(length)) throw invalid('prompt.length', length, 'an integer')
  checkPromptLength(length, most, limits)
  return checkedIds(ids, length, limits.vocabularySize)
}

/** What templates take: null and nothing at all beside tool calls. */
const isContent = (content: unknown): boolean =>
  content === undefined || content === null || typeof content === 'string' || isArray(content)

/** Tool calls, say, or thoughts: a message with such needs no content. */
const saysMore = (message: object): boolean =>
  Object.entries(message).some(
    ([name, value]) => !['role', 'name', 'content'].includes(name) && value != null,
  )

function checkMessages(messages: unknown): asserts messages is ChatMessage[] {
  // Copied: a hole is undefined there, and no method passes over it.
  const list = isArray(messages) ? reading('messages', () => [...messages]) : []
  if (list.length === 0) {
    throw invalid('messages', messages, 'a non-empty array of { role, content }')
  }
  list.forEach((message, i) => {
    const fits = typeof message === 'object' && message !== null
    if (!fits) throw invalid(`messages[${i}]`, message, 'an object with role and content')
    const read = (name: 'role' | 'content'): unknown =>
      reading(`messages[${i}].${name}`, () => (message as Record<string, unknown>)[name])
    const role = read('role')
    if (typeof role !== 'string') throw invalid(`messages[${i}].role`, role, 'a string')
    const content = read('content')
    if (content === undefined && !reading(`messages[${i}]`, () => saysMore(message))) {
      throw new OctavoError(
        'OCTAVO_INVALID_ARGUMENT',
        `messages[${i}] has no content; give it a string or an array of parts`,
      )
    }
    if (!isContent(content)) {
      throw invalid(`messages[${i}].content`, content, 'a string, an array of parts, or null')
    }
  })
}

/**
 * The ids of a rendered conversation; the template writes BOS and the like itself. Throws
 * OCTAVO_NO_TOKENIZER, OCTAVO_NO_CHAT_TEMPLATE, OCTAVO_TEMPLATE_FAILED, OCTAVO_INVALID_ARGUMENT, and
 * OCTAVO_CONTEXT_EXCEEDED for a text that is certainly too long.
 */
export function chatIds(
  messages: readonly ChatMessage[],
  options: ChatTemplateOptions,
  text: TextModel | null,
  limits: ModelLimits,
): Int32Array {
  checkMessages(messages)
  if (text === null) {
    throw new OctavoError('OCTAVO_NO_TOKENIZER', 'chat needs a tokenizer and this model has none')
  }
  if (text.template === null) {
    throw new OctavoError(
      'OCTAVO_NO_CHAT_TEMPLATE',
      'this model has no chat template; use generate() with a prompt written as the model expects it',
    )
  }
  requireTree('messages', messages)
  requireTree('tools', options.tools)
  requireTree('variables', options.variables)
  const rendered = text.template.render(messages, options)
  const most = limits.contextLength - 1
  const ids = encodeWithin(rendered, text.tokenizer, most, limits, { addSpecialTokens: false })
  if (ids.length > 0) return checkedIds(ids, ids.length, limits.vocabularySize)
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    'the chat template rendered these messages to nothing',
  )
}
