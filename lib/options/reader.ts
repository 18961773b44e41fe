/** Reads an options object: unknown names, wrong types and values out of range are refused by name. */
import { types } from 'node:util'
import { OctavoError } from '../errors.js'
import { suggest } from './suggest.js'

/** Bounds of a number. Inclusive unless `above` is given, which excludes itself. */
export interface Range {
  min?: number
  above?: number
  max?: number
  /** The kernels take it in fp32: what rounds to a value out of bounds there is out of bounds. */
  single?: boolean
}

/** What was thrown, in words. */
export const messageOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.message : String(error)
  } catch {
    return 'what it throws cannot be read either'
  }
}

const isOurs = (error: unknown): error is OctavoError => {
  try {
    return error instanceof OctavoError
  } catch {
    return false
  }
}

/** Reads what a caller handed in. A getter or a proxy may throw there: then the caller is told which value it was. */
export function reading<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (isOurs(error)) throw error
    const sentence = `${name} cannot be read: ${messageOf(error)}; pass values that can`
    throw new OctavoError('OCTAVO_INVALID_ARGUMENT', sentence, { cause: error })
  }
}

/** A value as an error sentence shows it: short, and with its type when that is what is wrong. */
export function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (isArray(value)) return `an array of ${lengthOf(value)}`
  if (typeof value === 'object' && value !== null) return `an object (${classOf(value)})`
  return String(value)
}

function lengthOf(value: unknown[]): string {
  try {
    return String(value.length)
  } catch {
    return 'no length'
  }
}

/** The caller's object may be a proxy or have getters: what they throw is no reason to be left without a refusal. */
function classOf(value: object): string {
  try {
    const name: unknown = value.constructor?.name
    return typeof name === 'string' && name !== '' ? name : 'no class'
  } catch {
    return 'no class'
  }
}

/** `Array.isArray`, but false for a proxy that was revoked, which throws there. */
export function isArray(value: unknown): value is unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** A signal that can be listened to: not what only has its prototype, nor a proxy. */
function isSignal(value: unknown): value is AbortSignal {
  try {
    return (
      value instanceof AbortSignal && !types.isProxy(value) && typeof value.aborted === 'boolean'
    )
  } catch {
    return false
  }
}

/** What may hold options: a record or an instance of a class, not a value that keeps what it holds elsewhere. */
export function isBag(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  try {
    return /^\[object (Object|Module)\]$/.test(Object.prototype.toString.call(value))
  } catch {
    return false // a proxy that was revoked
  }
}

/** A string that the system takes as a path: NUL would end it early. */
export const isPath = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && !value.includes('\0')

/** The refusal of one value, naming it and what it must be. */
export function invalid(name: string, value: unknown, expected: string): OctavoError {
  return new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${name} is ${show(value)}; it must be ${expected}`,
  )
}

/** " from 0 to 1": what follows "a number" in a sentence. */
export function rangeText({ min, above, max, single }: Range): string {
  const places = single === true ? ' in fp32' : ''
  if (above !== undefined)
    return (max === undefined ? ` above ${above}` : ` above ${above}, up to ${max}`) + places
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`
  if (min !== undefined) return ` of at least ${min}`
  return max === undefined ? '' : ` of at most ${max}`
}

export const inRange = (value: number, { min, above, max, single }: Range): boolean =>
  (min === undefined || value >= min) &&
  (above === undefined || (single === true ? Math.fround(value) : value) > above) &&
  (max === undefined || value <= max)

/**
 * One options object, each option of it read once. Every method returns undefined where the option is absent (or
 * undefined) and throws OCTAVO_INVALID_ARGUMENT where it is not what it must be; the constructor throws
 * OCTAVO_UNKNOWN_OPTION.
 */
export class OptionReader<Options extends object> {
  readonly #bag: Readonly<Record<string, unknown>>
  readonly #prefix: string

  /** `known` names every option there is: the type makes the compiler hold it to the interface. */
  constructor(options: unknown, known: Record<keyof Options, true>, prefix = '') {
    this.#prefix = prefix === '' ? '' : `${prefix}.`
    if (options === undefined) options = {}
    if (!isBag(options)) {
      throw invalid(prefix === '' ? 'options' : prefix, options, 'an object of options')
    }
    const given = options as Readonly<Record<string, unknown>>
    const names = reading(prefix === '' ? 'the options object' : prefix, () => Object.keys(given))
    for (const name of names) this.#refuseUnknown(name, Object.keys(known))
    const read = (name: string): unknown => reading(this.#prefix + name, () => given[name])
    const values = Object.keys(known).map((name) => [name, read(name)] as const)
    this.#bag = Object.fromEntries(values.filter(([, value]) => value !== undefined))
  }

  /** All options that are there, unchecked. */
  all(): Partial<Options> {
    return { ...this.#bag } as Partial<Options>
  }

  #refuseUnknown(name: string, known: readonly string[]): void {
    if (known.includes(name)) return
    const near = suggest(name, known)
    const hint =
      near === null
        ? `the options here are ${known.join(', ')}`
        : `did you mean ${this.#prefix}${near}?`
    throw new OctavoError('OCTAVO_UNKNOWN_OPTION', `unknown option ${this.#prefix}${name}; ${hint}`)
  }

  /** The option as it was given, unchecked. */
  raw(name: keyof Options & string): unknown {
    return this.#bag[name]
  }

  /** A refusal of the option named. */
  invalid(name: keyof Options & string, expected: string): OctavoError {
    return invalid(`${this.#prefix}${name}`, this.#bag[name], expected)
  }

  number(name: keyof Options & string, range: Range): number | undefined {
    const value = this.#bag[name]
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isFinite(value) && inRange(value, range)) return value
    throw this.invalid(name, `a number${rangeText(range)}`)
  }

  integer(name: keyof Options & string, range: Range): number | undefined {
    const value = this.#bag[name]
    if (value === undefined) return undefined
    if (Number.isSafeInteger(value) && inRange(value as number, range)) return value as number
    throw this.invalid(name, `an integer${rangeText(range)}`)
  }

  boolean(name: keyof Options & string): boolean | undefined {
    const value = this.#bag[name]
    if (value === undefined || typeof value === 'boolean') return value
    throw this.invalid(name, 'true or false')
  }

  oneOf<Value extends string | number>(
    name: keyof Options & string,
    values: readonly Value[],
  ): Value | undefined {
    const value = this.#bag[name]
    if (value === undefined || values.includes(value as Value)) return value as Value | undefined
    throw this.invalid(name, `one of ${values.map(show).join(', ')}`)
  }

  signal(name: keyof Options & string): AbortSignal | undefined {
    const value = this.#bag[name]
    if (value === undefined || isSignal(value)) return value
    throw this.invalid(name, 'an AbortSignal')
  }

  callback<Callback extends (...values: never[]) => unknown>(
    name: keyof Options & string,
  ): Callback | undefined {
    const value = this.#bag[name]
    if (value === undefined || typeof value === 'function') return value as Callback | undefined
    throw this.invalid(name, 'a function')
  }
}
