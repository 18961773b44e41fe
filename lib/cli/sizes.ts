/** Sizes as people write them: '80GiB', '512 MB', '1073741824'. */
import type { Arguments } from './arguments.js'
import { UsageError } from './usage.js'

const units: Record<string, number> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  k: 2 ** 10,
  kib: 2 ** 10,
  m: 2 ** 20,
  mib: 2 ** 20,
  g: 2 ** 30,
  gib: 2 ** 30,
  t: 2 ** 40,
  tib: 2 ** 40,
}

/** Whole bytes, or null where the text is no size. K, M, G and T are powers of 1024, KB … TB of 1000. */
export function parseBytes(text: string): number | null {
  const [, digits, unit] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(text.trim()) ?? []
  const factor = unit === undefined ? undefined : units[unit.toLowerCase()]
  if (digits === undefined || factor === undefined) return null
  if (factor === 1 && digits.includes('.')) return null
  const bytes = Math.round(Number(digits) * factor)
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : null
}

const refuse = (name: string, text: string, expected: string): UsageError =>
  new UsageError(`--${name} is '${text}'; it takes ${expected}`)

/** A flag that holds a size. Throws a UsageError. */
export function bytesFlag(args: Arguments, name: string): number | undefined {
  const text = args.text(name)
  if (text === undefined) return undefined
  const bytes = parseBytes(text)
  if (bytes === null) throw refuse(name, text, "a size in bytes, or like '80GiB' or '24GB'")
  return bytes
}

/** A flag that holds a size, or a fraction up to 1. Throws a UsageError. */
export function limitFlag(args: Arguments, name: string): number | undefined {
  const text = args.text(name)
  if (text === undefined) return undefined
  const fraction = /^(?:0?\.\d+|1(?:\.0+)?)$/.test(text) ? Number(text) : 0
  if (fraction > 0) return fraction
  const bytes = parseBytes(text)
  if (bytes !== null && bytes > 1) return bytes
  throw refuse(name, text, "a fraction up to 1, a size in bytes, or one like '80GiB'")
}
