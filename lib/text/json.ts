/** Reading of JSON that others wrote: every value is checked, a wrong one is named by its key. */

import { OctavoError } from '../errors.js'

export type JsonObject = Record<string, unknown>

/** One bound for every token id: keeps a lying file from asking for arrays of gigabytes. */
const idLimit = 2 ** 24

/** The refusal of a tokenizer file; `loadText` puts the file's path in front. */
export function invalid(key: string, problem: string): OctavoError {
  return new OctavoError('OCTAVO_TOKENIZER_INVALID', `"${key}" ${problem}`)
}

function describe(value: unknown): string {
  if (value === null || Array.isArray(value)) return value === null ? 'null' : 'an array'
  return typeof value === 'object' ? 'an object' : `${typeof value} ${String(value).slice(0, 40)}`
}

/** The refusal of a value that is absent, or not what it must be. */
export function wrong(key: string, value: unknown, expected: string): OctavoError {
  if (value === undefined) return invalid(key, `is missing: it must be ${expected}`)
  return invalid(key, `must be ${expected}, not ${describe(value)}`)
}

export function objectAt(value: unknown, key: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject
  }
  throw wrong(key, value, 'an object')
}

export function arrayAt(value: unknown, key: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw wrong(key, value, 'an array')
}

export function stringAt(value: unknown, key: string): string {
  if (typeof value === 'string') return value
  throw wrong(key, value, 'a string')
}

/** A flag that may be left out or null. */
export function flagAt(value: unknown, key: string, absent: boolean): boolean {
  if (value === undefined || value === null) return absent
  if (typeof value === 'boolean') return value
  throw wrong(key, value, 'true or false')
}

export function countAt(value: unknown, key: string, absent: number): number {
  if (value === undefined || value === null) return absent
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
  throw wrong(key, value, 'a whole number')
}

export function tokenIdAt(value: unknown, key: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < idLimit) {
    return value
  }
  throw wrong(key, value, `a token id from 0 to ${idLimit - 1}`)
}
