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

export function objectAt(value: unknown, key: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject
  }
  throw invalid(key, `must be an object, not ${describe(value)}`)
}

export function arrayAt(value: unknown, key: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw invalid(key, `must be an array, not ${describe(value)}`)
}

export function stringAt(value: unknown, key: string): string {
  if (typeof value === 'string') return value
  throw invalid(key, `must be a string, not ${describe(value)}`)
}

/** A flag that may be left out or null. */
export function flagAt(value: unknown, key: string, absent: boolean): boolean {
  if (value === undefined || value === null) return absent
  if (typeof value === 'boolean') return value
  throw invalid(key, `must be true or false, not ${describe(value)}`)
}

export function countAt(value: unknown, key: string, absent: number): number {
  if (value === undefined || value === null) return absent
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
  throw invalid(key, `must be a whole number, not ${describe(value)}`)
}

export function tokenIdAt(value: unknown, key: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < idLimit) {
    return value
  }
  throw invalid(key, `must be a token id from 0 to ${idLimit - 1}, not ${describe(value)}`)
}
