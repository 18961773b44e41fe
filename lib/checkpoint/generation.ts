/** generation_config.json: the model's own defaults and where its text ends. */
import type { Fields } from './fields.js'
import type { GenerationDefaults } from './types.js'

/** What cpp/engine/request.cc takes of a temperature or a penalty. */
const largest = 1e6

/** `fields` is null where the folder has no such file. Unknown keys are ignored. */
export function generationDefaultsOf(fields: Fields | null): GenerationDefaults {
  if (fields === null) return { greedy: true }
  const temperature = isZero(fields.value('temperature'))
    ? 0
    : fields.optionalNumber('temperature', { max: largest })
  const sampled = fields.optionalBoolean('do_sample') ?? false
  return {
    ...present('temperature', temperature),
    ...present('topK', fields.optionalInteger('top_k', { min: 0 })),
    ...present('topP', fields.optionalNumber('top_p', { max: 1 })),
    ...present('repetitionPenalty', fields.optionalNumber('repetition_penalty', { max: largest })),
    ...present('maxNewTokens', fields.optionalInteger('max_new_tokens')),
    greedy: !sampled || temperature === 0,
  }
}

/** 0 in fp32, as the sampler reads it. */
const isZero = (value: unknown): boolean => typeof value === 'number' && Math.fround(value) === 0

/**
 * Union of what both files say, in order; a pad token never ends a text. Throws OCTAVO_CHECKPOINT_MISMATCH
 * for an id past the vocabulary: such a text would never end.
 */
export function eosTokenIdsOf(
  generation: Fields | null,
  config: Fields,
  vocabularySize: number,
): number[] {
  const key = 'eos_token_id'
  const ids = [generation, config].flatMap((fields) => {
    const stated = tokenIds(fields, key)
    const past = stated.find((id) => id >= vocabularySize)
    if (fields === null || past === undefined) return stated
    const known = `the vocabulary has ${vocabularySize} ids (0 to ${vocabularySize - 1})`
    throw fields.mismatch(key, `is ${past}, but ${known}`)
  })
  return [...new Set(ids)]
}

export function bosTokenIdOf(generation: Fields | null, config: Fields): number | null {
  return tokenIds(generation, 'bos_token_id')[0] ?? tokenIds(config, 'bos_token_id')[0] ?? null
}

/** An id or a list of ids. Throws OCTAVO_CHECKPOINT_INVALID for anything else. */
function tokenIds(fields: Fields | null, key: string): number[] {
  const value = fields?.value(key) ?? null
  if (fields === null || value === null) return []
  const ids = Array.isArray(value) ? (value as unknown[]) : [value]
  if (ids.every((id) => Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31)) {
    return ids as number[]
  }
  throw fields.refusal(key, 'a token id or a list of them')
}

function present<K extends keyof GenerationDefaults>(
  key: K,
  value: GenerationDefaults[K] | null,
): Partial<GenerationDefaults> {
  return value === null ? {} : { [key]: value }
}
