/** The sections of `npm run bench:memory` that a card is held to, run small on the CPU: they end well and keep rows. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadNative } from '../../../lib/native.js'
import { makeControlGroup } from '../../helpers/control-group.js'
import { root } from './support.js'

interface Row {
  case: string
  value: number
  unit: string
  floor: number | null
}

const { checkRow } = require(join(root, 'scripts/performance-rows.cjs')) as {
  checkRow: (row: Row) => void
}

let folder: string
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'octavo-bench-'))))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a section; its output, and the rows it keeps. */
function bench(section: string, ...flags: string[]): { text: string; rows: Row[] } {
  const json = join(folder, `${section}.json`)
  const script = join(root, 'scripts', 'bench', 'memory.cjs')
  const all = ['--expose-gc', script, section, '--json', json, '--commit', '0123456', ...flags]
  const text = execFileSync(process.execPath, [...all, '--folder', folder], { encoding: 'utf8' })
  const rows = JSON.parse(readFileSync(json, 'utf8')) as Row[]
  rows.forEach(checkRow)
  return { text, rows }
}

/** The value of the row whose case begins so. */
function valueOf(rows: Row[], start: string): number {
  const found = rows.find((row) => row.case.startsWith(start))
  if (found === undefined) throw new Error(`no row '${start}' in ${JSON.stringify(rows)}`)
  return found.value
}

test('audit: on the CPU every sample is exact, under load too', () => {
  const { text, rows } = bench('audit', '--seconds', '2')
  expect(valueOf(rows, 'audit soak: samples')).toBe(100)
  expect(valueOf(rows, 'audit soak: largest residual')).toBe(0)
  const [, agreeing, samples] = /plan and ledger agree +(\d+)\/(\d+)/.exec(text)!
  expect(agreeing).toBe(samples)
  expect(text).toMatch(/idle at the end: residual +0 bytes +exact/)
})

test('sweep: every failed allocation is a typed error that moves no byte', () => {
  const { text, rows } = bench('sweep')
  expect(valueOf(rows, 'failure sweep: untyped')).toBe(0)
  expect(valueOf(rows, 'failure sweep: device bytes')).toBe(0)
  expect(text.match(/^n +\d+ +load +OCTAVO_OUT_OF_MEMORY/gm)!.length).toBeGreaterThanOrEqual(15)
})

test('reload: the device is as it was after every load', () => {
  const { rows } = bench('reload', '--times', '6')
  expect(valueOf(rows, 'device bytes after load and dispose differ by')).toBe(0)
})

test('weights: peaks within their bars, and the share of file and link', () => {
  const { text, rows } = bench('weights', '--megabytes', '160', '--rounds', '1')
  expect(valueOf(rows, 'weights stream: device peak')).toBeLessThanOrEqual(1.05)
  expect(text).toMatch(/load from the disk +\d+ MB\/s +\d+ % of /)
  expect(text).toMatch(/link, pinned, 8 × 8 MiB +\d+ MB\/s/)
})

test('allocator: ours, with malloc beside it', () => {
  // AddressSanitizer's malloc marks every byte of the blocks.
  const rounds = loadNative().buildInfo.sanitizer ? '5' : '101'
  const { text, rows } = bench('allocator', '--rounds', rounds)
  expect(rows).toHaveLength(3)
  expect(text).toMatch(/malloc, 64 KiB: ns a pair/)
})

// AddressSanitizer's own memory would count in the group.
const problem = loadNative().buildInfo.sanitizer
  ? 'AddressSanitizer keeps memory of its own'
  : ((made) => {
      made.group?.remove()
      return made.problem
    })(makeControlGroup())
const inGroup = problem === '' ? test : test.skip

inGroup(`neighbour: what another process takes is refused by type (${problem || 'run'})`, () => {
  const { text, rows } = bench('neighbour')
  expect(valueOf(rows, 'a second process takes the memory: untyped')).toBe(0)
  expect(valueOf(rows, 'a second process has gone')).toBeGreaterThan(0)
  expect(text).toMatch(/beside it: served +\d+ +refused: \d+ × OCTAVO_OUT_OF_MEMORY/)
  expect(text).toMatch(/pages left at the end +0 /)
})
