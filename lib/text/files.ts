/** The files of a model folder that speak of text. */

import { lstat } from 'node:fs/promises'
import { ioFailed, readBounded } from '../disk.js'
import { OctavoError } from '../errors.js'
import { deepestJson, nestsTooDeep } from '../json-depth.js'
import { objectAt, type JsonObject } from './json.js'

/** null when there is no such file. Throws OCTAVO_IO_FAILED, OCTAVO_TOKENIZER_INVALID for one that is too large. */
export async function readText(path: string): Promise<string | null> {
  try {
    return (await readBounded(path, 'OCTAVO_TOKENIZER_INVALID')).toString('utf8')
  } catch (error) {
    return absent(path, error)
  }
}

/**
 * null where `error` says that nothing lies at `path`; throws OCTAVO_IO_FAILED otherwise. A link to nothing is
 * an entry: a hub cache whose files were cleared leaves such, and the model is then broken, not textless.
 */
export async function absent(path: string, error: unknown): Promise<null> {
  const failure = ioFailed(path, error)
  if ((failure.cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT') throw failure
  const entry = await lstat(path).catch(() => null)
  if (entry === null) return null
  if (!entry.isSymbolicLink()) throw failure
  const problem = `cannot read ${path}: it is a link to a file that does not exist`
  throw new OctavoError('OCTAVO_IO_FAILED', problem, { cause: failure.cause })
}

/** The object that a JSON file holds, or null when there is no such file. */
export async function readJsonObject(path: string): Promise<JsonObject | null> {
  const text = await readText(path)
  if (text === null) return null
  return naming(path, () => objectAt(parseJson(text), '(the whole file)'))
}

/** Some editors begin a file with it; a checkpoint's other files may have one too. */
const byteOrderMark = '\ufeff'

function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text)
  } catch (error) {
    const reason = (error as Error).message
    throw new OctavoError('OCTAVO_TOKENIZER_INVALID', `not JSON (${reason})`, { cause: error })
  }
  if (!nestsTooDeep(value)) return value
  const problem = `nests more than ${deepestJson} levels deep; no tokenizer does`
  throw new OctavoError('OCTAVO_TOKENIZER_INVALID', problem)
}

/** Runs `read` and puts the file's path in front of what it refuses. */
export function naming<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof OctavoError)) throw error
    throw new OctavoError(error.code, `${path}: ${error.message}`, { cause: error })
  }
}
