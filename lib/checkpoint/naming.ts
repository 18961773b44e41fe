/** Where a checkpoint keeps the language model's tensors: multimodal wrappers put prefixes before them. */
import type { StoredTensor } from './tensors.js'

export interface Naming {
  /** Stands for `model.` of the plain names. */
  body: string
  /** The full name of the head. */
  head: string
}

const plain: Naming = { body: 'model.', head: 'lm_head.weight' }

/** transformers 4 wrappers put `language_model.` in front, transformers 5 ones `model.language_model.`. */
const wrapped: readonly Naming[] = [
  plain,
  { body: 'language_model.model.', head: 'language_model.lm_head.weight' },
  { body: 'model.language_model.', head: 'lm_head.weight' },
  { body: 'model.language_model.model.', head: 'model.language_model.lm_head.weight' },
]

/** The naming whose embedding is there; the plain one where none is, so that messages use plain names. */
export function namingOf(tensors: ReadonlyMap<string, StoredTensor>): Naming {
  return wrapped.find(({ body }) => tensors.has(`${body}embed_tokens.weight`)) ?? plain
}

/** The name in this checkpoint of a tensor that a plain one calls `name`. */
export function storedName(naming: Naming, name: string): string {
  if (name === plain.head) return naming.head
  return name.startsWith(plain.body) ? naming.body + name.slice(plain.body.length) : name
}
