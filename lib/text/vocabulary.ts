/** Which id is which token: the model's vocabulary and the tokens added to it. */

import { arrayAt, flagAt, invalid, objectAt, stringAt, tokenIdAt, type JsonObject } from './json.js'

export interface AddedToken {
  id: number
  content: string
  /** only between characters that are not of a word */
  singleWord: boolean
  /** takes the white space before it along */
  leftStrip: boolean
  /** takes the white space after it along */
  rightStrip: boolean
  /** found in the normalised text, not in the raw one */
  normalized: boolean
  special: boolean
}

export class Vocabulary {
  readonly added: readonly AddedToken[]
  /** Highest id + 1; ids may have gaps. */
  readonly size: number
  private readonly ids = new Map<string, number>()
  private readonly contents: string[] = []
  private readonly addedById = new Map<number, AddedToken>()

  /** `named`: special tokens of tokenizer_config.json; one that is in the vocabulary is special. */
  constructor(vocabulary: JsonObject, addedTokens: unknown, named: readonly string[]) {
    for (const content of Object.keys(vocabulary)) this.add(content, vocabulary[content])
    const added = arrayAt(addedTokens ?? [], 'added_tokens').map(parseAddedToken)
    for (const token of added) this.add(token.content, token.id)
    for (const content of named) promote(added, content, this.ids.get(content))
    for (const token of added) this.addedById.set(token.id, token)
    this.added = added
    this.size = this.contents.length
    if (this.size === 0) throw invalid('model.vocab', 'is empty: a model has at least one token')
  }

  idOf(content: string): number | undefined {
    return this.ids.get(content)
  }

  contentOf(id: number): string | undefined {
    return this.contents[id]
  }

  addedToken(id: number): AddedToken | undefined {
    return this.addedById.get(id)
  }

  isSpecial(id: number): boolean {
    return this.addedById.get(id)?.special === true
  }

  private add(content: string, value: unknown): void {
    const id = tokenIdAt(value, content)
    const known = this.ids.get(content)
    const holder = this.contents[id]
    if (known === id) return
    if (known !== undefined) throw invalid(content, `has two ids, ${known} and ${id}`)
    if (holder !== undefined) throw invalid(content, `has id ${id}, which "${holder}" has too`)
    this.ids.set(content, id)
    this.contents[id] = content
  }
}

function parseAddedToken(value: unknown, index: number): AddedToken {
  const key = `added_tokens[${index}]`
  const token = objectAt(value, key)
  const content = stringAt(token.content, `${key}.content`)
  if (content === '') throw invalid(`${key}.content`, 'is empty')
  const special = flagAt(token.special, `${key}.special`, false)
  return {
    id: tokenIdAt(token.id, `${key}.id`),
    content,
    singleWord: flagAt(token.single_word, `${key}.single_word`, false),
    leftStrip: flagAt(token.lstrip, `${key}.lstrip`, false),
    rightStrip: flagAt(token.rstrip, `${key}.rstrip`, false),
    normalized: flagAt(token.normalized, `${key}.normalized`, !special),
    special,
  }
}

/** What transformers does with a special token that only tokenizer_config.json calls special. */
function promote(added: AddedToken[], content: string, id: number | undefined): void {
  const token = added.find((candidate) => candidate.content === content)
  if (token) token.special = true
  if (token || id === undefined) return
  const flags = { singleWord: false, leftStrip: false, rightStrip: false, normalized: false }
  added.push({ id, content, ...flags, special: true })
}
