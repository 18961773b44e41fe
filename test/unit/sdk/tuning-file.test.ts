/** The life of the file in which measurements are kept: whatever it holds, and wherever it is, no load fails for it. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NativeTuned } from '../../../lib/native-tuning.js'
import {
  defaultTuningFile,
  readTuningFile,
  tableVersion,
  writeTuningFile,
} from '../../../lib/tuning-file.js'

const of = { octavo: '1.2.3', card: 'NVIDIA H200', multiprocessors: 132 }
const entry = (rows: number, columns: number, tile = 64): NativeTuned => ({
  ...{ rows, columns, depth: 4096, microseconds: 11.5, untunedMicroseconds: 12.25 },
  plan: { rows: 64, columns: tile, sharing: 'none' },
})

let folder: string
let file: string
let warnings: jest.SpyInstance
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-tuned-'))
  file = join(folder, 'deep', 'down', 'tuned.json')
  warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => {
  warnings.mockRestore()
  rmSync(folder, { recursive: true })
})

const put = (text: string): void => {
  mkdirSync(join(folder, 'deep', 'down'), { recursive: true })
  writeFileSync(file, text)
}
const whole = (change: object = {}): string =>
  JSON.stringify({ ...of, table: tableVersion, entries: [entry(64, 4096)], ...change })

it('makes the folders, and reads back what it wrote', async () => {
  await writeTuningFile(file, of, [entry(32, 4096), entry(64, 4096)])
  expect(await readTuningFile(file, of)).toEqual([entry(32, 4096), entry(64, 4096)])
  expect(readdirSync(join(folder, 'deep', 'down'))).toEqual(['tuned.json'])
  expect(warnings).not.toHaveBeenCalled()
})

it('is no file yet: nothing is known, and nothing is said', async () => {
  expect(await readTuningFile(file, of)).toEqual([])
  expect(warnings).not.toHaveBeenCalled()
})

it.each([
  ['another octavo', { octavo: '1.2.4' }],
  ['another table', { table: tableVersion + 1 }],
  ['another card', { card: 'NVIDIA H100' }],
  ['a part of the card', { multiprocessors: 16 }],
])('of %s: nothing is known, nothing is said, and it is written anew', async (_, change) => {
  put(whole(change))
  expect(await readTuningFile(file, of)).toEqual([])
  await writeTuningFile(file, of, [entry(128, 4096)])
  expect(await readTuningFile(file, of)).toEqual([entry(128, 4096)])
  expect(warnings).not.toHaveBeenCalled()
})

const broken = (change: object): string => whole({ entries: [{ ...entry(64, 4096), ...change }] })
it.each([
  ['half a file', whole().slice(0, 50), 'JSON'],
  ['nothing', '', 'JSON'],
  ['a list', '[]', 'it holds no object'],
  ['null', 'null', 'it holds no object'],
  ['no entries', whole({ entries: undefined }), 'not a list'],
  ['too many entries', whole({ entries: Array.from({ length: 4097 }, () => 1) }), 'not a list'],
  ['an entry that is a number', whole({ entries: [3] }), 'an entry of it is 3'],
  ['rows of a half', broken({ rows: 0.5 }), 'an entry of it is'],
  ['columns of 2³¹', broken({ columns: 2 ** 31 }), 'an entry of it is'],
  ['a time below zero', broken({ microseconds: -1 }), 'an entry of it is'],
  ['no plan', broken({ plan: null }), 'an entry of it is'],
  [
    'a plan that shares everything',
    broken({ plan: { rows: 64, columns: 64, sharing: 'all' } }),
    'an entry',
  ],
])('holds %s: one warning, nothing is known, and it is written anew', async (_, text, reason) => {
  put(text)
  expect(await readTuningFile(file, of)).toEqual([])
  const sentence = expect.stringContaining(
    `${file} is not used and will be written anew: `,
  ) as string
  expect(warnings.mock.calls).toEqual([[sentence, { code: 'OCTAVO_TUNING_FILE' }]])
  expect((warnings.mock.calls[0] as [string])[0]).toContain(reason)
  await writeTuningFile(file, of, [entry(128, 4096)])
  expect(await readTuningFile(file, of)).toEqual([entry(128, 4096)])
  expect(warnings).toHaveBeenCalledTimes(1)
})

it('is a file of gigabytes: it is not read', async () => {
  put('')
  truncateSync(file, 2 ** 33)
  expect(await readTuningFile(file, of)).toEqual([])
  expect(warnings.mock.calls).toEqual([
    [expect.stringContaining('8589934592 bytes, more than'), { code: 'OCTAVO_TUNING_FILE' }],
  ])
})

it('is a folder: a warning for the reading and one for the writing, nothing left beside it', async () => {
  mkdirSync(file, { recursive: true })
  expect(await readTuningFile(file, of)).toEqual([])
  await writeTuningFile(file, of, [entry(64, 4096)])
  expect(warnings).toHaveBeenCalledTimes(2)
  expect((warnings.mock.calls[1] as [string])[0]).toContain(`could not be kept in ${file}`)
  expect(readdirSync(join(folder, 'deep', 'down'))).toEqual(['tuned.json'])
})

it('lies where nothing can be made: a warning', async () => {
  writeFileSync(join(folder, 'deep'), 'a file in the place of a folder')
  await writeTuningFile(file, of, [entry(64, 4096)])
  expect(warnings.mock.calls).toEqual([
    [expect.stringContaining('could not be kept'), { code: 'OCTAVO_TUNING_FILE' }],
  ])
})

it('keeps what others wrote since, and of the same rows and shape the later', async () => {
  await writeTuningFile(file, of, [entry(64, 4096), entry(32, 8192)])
  await writeTuningFile(file, of, [entry(50, 4096, 128)]) // of the same bucket as 64
  expect(await readTuningFile(file, of)).toEqual([entry(50, 4096, 128), entry(32, 8192)])
})

it('is written by many at once: always whole, and nothing is left beside it', async () => {
  const shapes = Array.from({ length: 20 }, (_, index) => [entry(64, 1024 + index)])
  const readings = Promise.all(shapes.map(() => readTuningFile(file, of)))
  await Promise.all(shapes.map((measured) => writeTuningFile(file, of, measured)))
  await readings
  expect(warnings).not.toHaveBeenCalled()
  const { entries } = JSON.parse(readFileSync(file, 'utf8')) as { entries: NativeTuned[] }
  expect(entries.length).toBeGreaterThanOrEqual(1)
  expect(readdirSync(join(folder, 'deep', 'down'))).toEqual(['tuned.json'])
})

it.each([
  ['NVIDIA H200', { XDG_CACHE_HOME: '/cache' }, '/cache/octavo/tuned-nvidia-h200.json'],
  ['NVIDIA A100-SXM4-80GB', { XDG_CACHE_HOME: '/c' }, '/c/octavo/tuned-nvidia-a100-sxm4-80gb.json'],
  ['../../etc', { XDG_CACHE_HOME: '/c' }, '/c/octavo/tuned-etc.json'],
  ['\u00e9', { XDG_CACHE_HOME: '/c' }, '/c/octavo/tuned-card.json'],
  ['H100', { XDG_CACHE_HOME: 'here' }, join(homedir(), '.cache/octavo/tuned-h100.json')],
  ['H100', {}, join(homedir(), '.cache/octavo/tuned-h100.json')],
])('of %s with %j lies in %s', (card, environment, expected) => {
  expect(defaultTuningFile(card, environment)).toBe(expected)
})
