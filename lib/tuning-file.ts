/** What was measured of dense products on a card, kept for the next load: a cache, which no load fails for. */
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import type { NativeTile, NativeTuned } from './native-tuning.js'
import { messageOf } from './options/reader.js'

/** Of the kernels' tiles and of the form of the file: raised where an older file means nothing any more. */
export const tableVersion = 1

/** A card, and the octavo that measured on it. */
export interface TunedCard {
  octavo: string
  card: string
  multiprocessors: number
}

const mostBytes = 4 * 2 ** 20
const mostEntries = 4096
const sharings: readonly unknown[] = [
  'none',
  'x',
  'weight',
  'depth',
] satisfies NativeTile['sharing'][]

/** `NVIDIA H200` is `nvidia-h200`. */
const slug = (card: string): string =>
  card
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '') || 'card'

/** The XDG base directory specification: a relative path there is to be ignored. */
export function defaultTuningFile(card: string, environment = process.env): string {
  const given = environment['XDG_CACHE_HOME']
  const cache = given !== undefined && isAbsolute(given) ? given : join(homedir(), '.cache')
  return join(cache, 'octavo', `tuned-${slug(card)}.json`)
}

export function warnOfTuning(sentence: string): void {
  process.emitWarning(sentence, { code: 'OCTAVO_TUNING_FILE' })
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) < 2 ** 31

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value < 1e12

function readEntry(value: unknown): NativeTuned {
  const { rows, columns, depth, plan, microseconds, untunedMicroseconds } = isRecord(value)
    ? value
    : {}
  const isWhole =
    [rows, columns, depth].every(isCount) &&
    [microseconds, untunedMicroseconds].every(isTime) &&
    isRecord(plan) &&
    isCount(plan['rows']) &&
    isCount(plan['columns']) &&
    sharings.includes(plan['sharing'])
  if (!isWhole) throw new Error(`an entry of it is ${JSON.stringify(value)}`)
  const tile = {
    rows: plan['rows'],
    columns: plan['columns'],
    sharing: plan['sharing'],
  } as NativeTile
  return { rows, columns, depth, plan: tile, microseconds, untunedMicroseconds } as NativeTuned
}

/** Throws where the text is not what was written. Of another card or version: nothing. */
function readEntries(text: string, of: TunedCard): NativeTuned[] {
  const read: unknown = JSON.parse(text)
  if (!isRecord(read)) throw new Error('it holds no object')
  const { octavo, table, card, multiprocessors, entries } = read
  if (octavo !== of.octavo || table !== tableVersion) return []
  if (card !== of.card || multiprocessors !== of.multiprocessors) return []
  if (!Array.isArray(entries) || entries.length > mostEntries) {
    throw new Error(`its entries are not a list of up to ${mostEntries}`)
  }
  return entries.map(readEntry)
}

/** What is known of the card: nothing where there is no file. Where it cannot be used a process warning says why. */
export async function readTuningFile(file: string, of: TunedCard): Promise<NativeTuned[]> {
  try {
    const { size } = await stat(file)
    if (size > mostBytes) throw new Error(`it has ${size} bytes, more than ${mostBytes}`)
    return readEntries(await readFile(file, 'utf8'), of)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    warnOfTuning(`${file} is not used and will be written anew: ${messageOf(error)}`)
    return []
  }
}

const keyOf = ({ rows, columns, depth }: NativeTuned): string => {
  const bucket = Math.max(32, 2 ** Math.ceil(Math.log2(rows)))
  return `${bucket} ${columns} ${depth}`
}

let written = 0

/**
 * Adds what was measured to what the file holds by now, another process's too; of the same shape the new one stays. The
 * file takes its place at once or not at all. Where that fails a process warning says why.
 */
export async function writeTuningFile(
  file: string,
  of: TunedCard,
  measured: readonly NativeTuned[],
): Promise<void> {
  const temporary = `${file}.${process.pid}.${++written}.new`
  try {
    const known = await readFile(file, 'utf8')
      .then((text) => readEntries(text, of))
      .catch(() => [])
    const byKey = new Map([...known, ...measured].map((entry) => [keyOf(entry), entry]))
    const entries = [...byKey.values()].slice(-mostEntries)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(
      temporary,
      `${JSON.stringify({ ...of, table: tableVersion, entries }, null, 1)}\n`,
    )
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    warnOfTuning(`what was measured could not be kept in ${file}: ${messageOf(error)}`)
  }
}
