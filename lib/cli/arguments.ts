/** Command-line arguments: unknown flags are named with the nearest known one. */
import { parseArgs } from 'node:util'
import { OctavoError } from '../errors.js'
import { suggest } from '../options/suggest.js'

export interface Flag {
  type: 'string' | 'boolean'
  short?: string
  /** May be given more than once; the values are collected. */
  multiple?: boolean
}

export type Flags = Record<string, Flag>

const refuse = (sentence: string): OctavoError =>
  new OctavoError('OCTAVO_INVALID_ARGUMENT', sentence)

function refuseUnknown(name: string, written: string, known: readonly string[]): never {
  const near = suggest(name, known)
  const hint = near === null ? 'see --help' : `did you mean --${near}?`
  throw new OctavoError('OCTAVO_UNKNOWN_OPTION', `unknown option ${written}; ${hint}`)
}

/** What was given: flags by name, and the rest in order. */
export class Arguments {
  readonly #values: Readonly<Record<string, unknown>>
  readonly positionals: readonly string[]

  /** Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
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
      const flag = flags[token.name] ?? refuseUnknown(token.name, token.rawName, Object.keys(flags))
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

  text(name: string): string | undefined {
    return this.#values[name] as string | undefined
  }

  list(name: string): string[] | undefined {
    return this.#values[name] as string[] | undefined
  }

  /** Any JavaScript number; whether it fits is checked by the library, which names the range. */
  number(name: string): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const value = Number(text)
    if (text.trim() !== '' && !Number.isNaN(value)) return value
    throw refuse(`--${name} is '${text}'; it takes a number`)
  }

  /** A whole number of any size. */
  bigint(name: string): bigint | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (/^\d+$/.test(text)) return BigInt(text)
    throw refuse(`--${name} is '${text}'; it takes a whole number`)
  }
}
