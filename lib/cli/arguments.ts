/** Command-line arguments: unknown flags are named with the nearest known one. */
import { parseArgs } from 'node:util'
import { inRange, rangeText, type Range } from '../options/reader.js'
import { suggest } from '../options/suggest.js'
import { UsageError } from './usage.js'

export interface Flag {
  type: 'string' | 'boolean'
  short?: string
  /** May be given more than once; the values are collected. */
  multiple?: boolean
}

export type Flags = Record<string, Flag>

const refuse = (sentence: string): UsageError => new UsageError(sentence)

function refuseUnknown(name: string, written: string, known: readonly string[]): never {
  const near = suggest(name, known)
  const hint = near === null ? 'see --help' : `did you mean --${near}?`
  throw new UsageError(`unknown option ${written}; ${hint}`, 'OCTAVO_UNKNOWN_OPTION')
}

/** What was given: flags by name, and the rest in order. */
export class Arguments {
  readonly #values: Readonly<Record<string, unknown>>
  readonly positionals: readonly string[]

  /** Throws a UsageError, as everything here does. */
  constructor(argv: readonly string[], flags: Flags) {
    const parsed = parseArgs({
      args: [...argv],
      options: flags,
      strict: false,
      tokens: true,
      allowPositionals: true,
    })
    for (const token of parsed.tokens) {
      if (token.kind !== 'option') continue
      const known = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined
      const flag = known ?? refuseUnknown(token.name, token.rawName, Object.keys(flags))
      const given = token.value !== undefined
      if (flag.type === 'string' && !given) throw refuse(`--${token.name} needs a value`)
      if (flag.type === 'boolean' && given) throw refuse(`--${token.name} takes no value`)
    }
    this.#values = parsed.values
    this.positionals = parsed.positionals
  }

  has(name: string): boolean {
    return this.#values[name] === true
  }

  /** true for `--name`, false for `--no-name`, undefined where neither was given. */
  either(name: string): boolean | undefined {
    const [on, off] = [this.has(name), this.has(`no-${name}`)]
    if (on && off)
      throw new UsageError(`--${name} and --no-${name} contradict each other: give one`)
    return on ? true : off ? false : undefined
  }

  text(name: string): string | undefined {
    return this.#values[name] as string | undefined
  }

  /** The refusal of a flag's value; `expected` completes "it takes …". */
  refusal(name: string, expected: string): UsageError {
    return refuse(`--${name} is '${this.text(name)}'; it takes ${expected}`)
  }

  /** A path; not an empty one, which a variable that is not set makes of `--name "$VARIABLE"`. */
  path(name: string, expected = 'the path of a file'): string | undefined {
    const path = this.text(name)
    if (path === '') throw this.refusal(name, expected)
    return path
  }

  /** Every value of a flag that may be given more than once; none may be empty. */
  list(name: string): string[] | undefined {
    const texts = this.#values[name] as string[] | undefined
    if (texts?.includes('')) throw refuse(`--${name} is ''; it takes a text that is not empty`)
    return texts
  }

  /** Any JavaScript number in the range. */
  number(name: string, range: Range = {}): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const value = text.trim() === '' ? NaN : Number(text)
    if (!Number.isNaN(value) && inRange(value, range)) return value
    throw this.refusal(name, `a number${rangeText(range)}`)
  }

  integer(name: string, range: Range): number | undefined {
    const value = this.number(name, range)
    if (value === undefined || Number.isSafeInteger(value)) return value
    throw this.refusal(name, `an integer${rangeText(range)}`)
  }

  /** A whole number below 2^64. */
  uint64(name: string): bigint | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (/^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n) return BigInt(text)
    throw this.refusal(name, 'a whole number below 2^64')
  }
}
