/** A JSON object of a checkpoint with typed getters that name file and key in every refusal. */
import { OctavoError } from '../errors.js'

export interface Bounds {
  min?: number
  max?: number
}

/**
 * Values of one JSON object. A key that is `null` counts as absent, as in transformers.
 * Getters throw OCTAVO_CHECKPOINT_INVALID: `config.json: "hidden_size" must be a positive integer, got "abc"`.
 */
export class Fields {
  constructor(
    readonly file: string,
    readonly values: Readonly<Record<string, unknown>>,
    private readonly path = '',
  ) {}

  has(key: string): boolean {
    return this.value(key) !== null
  }

  /** The value of a key, `null` when absent. */
  value(key: string): unknown {
    return Object.hasOwn(this.values, key) ? (this.values[key] ?? null) : null
  }

  /** First of the keys that is present: for names that changed between versions. */
  firstOf(...keys: string[]): string | null {
    return keys.find((key) => this.has(key)) ?? null
  }

  optionalInteger(key: string, { min = 1, max = 2 ** 31 - 1 }: Bounds = {}): number | null {
    const value = this.value(key)
    if (value === null) return null
    if (!Number.isInteger(value) || (value as number) < min) {
      const kinds: Record<number, string> = { 0: 'a non-negative integer', 1: 'a positive integer' }
      throw this.refusal(key, kinds[min] ?? `an integer of at least ${min}`)
    }
    if ((value as number) > max) throw this.refusal(key, `an integer of at most ${max}`)
    return value as number
  }

  integer(key: string, bounds: Bounds = {}): number {
    return this.optionalInteger(key, bounds) ?? this.missing(key)
  }

  /** A finite number above `above` and at most `max`. What rounds to 0 or infinity in fp32, where it is used, counts as that. */
  optionalNumber(key: string, { above = 0, max = Infinity } = {}): number | null {
    const value = this.value(key)
    if (value === null) return null
    const number = typeof value === 'number' ? value : NaN
    const single = Math.fround(number)
    const isUsable = single !== 0 && Number.isFinite(single)
    if (isUsable && number > above && number <= max) return number
    const place = !isUsable && number > above && number <= max ? ' in fp32' : ''
    const bounds = `above ${above}${max < Infinity ? ` and at most ${max}` : ''}`
    throw this.refusal(key, `a number ${bounds}${place}`)
  }

  number(key: string, bounds: { above?: number; max?: number } = {}): number {
    return this.optionalNumber(key, bounds) ?? this.missing(key)
  }

  optionalBoolean(key: string): boolean | null {
    const value = this.value(key)
    if (value === null || typeof value === 'boolean') return value
    throw this.refusal(key, 'true or false')
  }

  optionalString(key: string): string | null {
    const value = this.value(key)
    if (value === null || typeof value === 'string') return value
    throw this.refusal(key, 'a string')
  }

  optionalStrings(key: string): string[] | null {
    const value = this.value(key)
    if (value === null) return null
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
    throw this.refusal(key, 'a list of strings')
  }

  optionalObject(key: string): Fields | null {
    const value = this.value(key)
    if (value === null) return null
    if (typeof value !== 'object' || Array.isArray(value)) throw this.refusal(key, 'an object')
    return new Fields(this.file, value as Record<string, unknown>, `${this.path}${key}.`)
  }

  /** An error about one key; `expected` completes "must be …". */
  refusal(key: string, expected: string): OctavoError {
    const value = this.value(key)
    // JSON has no infinity: `1e400` is read as one and would be shown as null.
    const got = typeof value === 'number' ? String(value) : shorten(JSON.stringify(value))
    const problem = `${this.file}: "${this.path}${key}" must be ${expected}, got ${got}`
    return new OctavoError('OCTAVO_CHECKPOINT_INVALID', problem)
  }

  /** An OCTAVO_CHECKPOINT_MISMATCH about one key: it contradicts another part of the checkpoint. */
  mismatch(key: string, why: string): OctavoError {
    return new OctavoError(
      'OCTAVO_CHECKPOINT_MISMATCH',
      `${this.file}: "${this.path}${key}" ${why}`,
    )
  }

  /** An OCTAVO_UNSUPPORTED_MODEL about one key. */
  unsupported(key: string, why: string): OctavoError {
    return new OctavoError('OCTAVO_UNSUPPORTED_MODEL', `${this.file}: "${this.path}${key}" ${why}`)
  }

  private missing(key: string): never {
    const problem = `${this.file}: "${this.path}${key}" is missing`
    throw new OctavoError('OCTAVO_CHECKPOINT_INVALID', problem)
  }
}

/** What a file says may be long: an error message quotes its beginning. */
export function shorten(text: string, length = 60): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`
}

/** "a, b, c and 7 more". */
export function listNames(names: readonly string[], shown = 4): string {
  const head = names.slice(0, shown).map((name) => shorten(name, 120))
  const rest = names.length - head.length
  return rest > 0 ? `${head.join(', ')} and ${rest} more` : head.join(', ')
}
