/** JSON files of a checkpoint: read whole, within a bound, with the place of a syntax error. */
import { basename } from 'node:path'
import { OctavoError } from '../errors.js'
import { deepestJson, nestsTooDeep } from '../json-depth.js'
import { readBounded } from '../disk.js'
import { Fields } from './fields.js'
import { syntaxErrorOffset } from './json-syntax.js'

/**
 * The JSON object in a file. Throws OCTAVO_IO_FAILED, OCTAVO_CHECKPOINT_INVALID (naming line and
 * column) or OCTAVO_CANCELLED.
 */
export async function readJson(path: string, signal?: AbortSignal): Promise<Fields> {
  const file = basename(path)
  const bytes = await readBounded(path, 'OCTAVO_CHECKPOINT_INVALID', signal)
  return new Fields(file, parseJsonObject(file, decodeUtf8(file, bytes)))
}

/** Text of UTF-8 bytes; throws OCTAVO_CHECKPOINT_INVALID when they are not. */
export function decodeUtf8(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    const problem = `${file} is not valid UTF-8`
    throw new OctavoError('OCTAVO_CHECKPOINT_INVALID', problem, { cause: error })
  }
}

/** A JSON text whose root is an object; throws OCTAVO_CHECKPOINT_INVALID. */
export function parseJsonObject(file: string, text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const problem = `${file} is not valid JSON: ${syntaxProblem(text)}`
    throw new OctavoError('OCTAVO_CHECKPOINT_INVALID', problem, { cause: error })
  }
  if (nestsTooDeep(value)) {
    const problem = `${file} nests more than ${deepestJson} levels deep; no model's file does`
    throw new OctavoError('OCTAVO_CHECKPOINT_INVALID', problem)
  }
  if (isObject(value)) return value
  const kind = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
  throw new OctavoError(
    'OCTAVO_CHECKPOINT_INVALID',
    `${file} must hold a JSON object, it holds ${kind}`,
  )
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A person wants line and column, and what stands there. */
function syntaxProblem(text: string): string {
  const offset = syntaxErrorOffset(text)
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - before.lastIndexOf('\n')
  const found = text.slice(offset, offset + 12).split('\n')[0]!
  const what = offset === text.length ? 'it ends too early' : `unexpected ${JSON.stringify(found)}`
  return `${what} (line ${line}, column ${column})`
}
