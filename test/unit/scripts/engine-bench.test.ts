/** scripts/bench/engine.cjs: every case runs small on the CPU, and what it keeps is a row. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(__dirname, '..', '..', '..')
const rows = require('../../../scripts/performance-rows.cjs') as { checkRow(row: unknown): void }
const bars = require('../../../scripts/bench/engine-bars.json') as { case: string }[]

function run(...argv: string[]): { status: number | null; stdout: string; stderr: string } {
  const script = join(root, 'scripts', 'bench', 'engine.cjs')
  const given = ['--device', 'cpu', '--repeats', '1', '--seconds', '0.2', ...argv]
  return spawnSync(process.execPath, [script, ...given], { encoding: 'utf8' })
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-engine-bench-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('every case has a value, and a row that can be kept', () => {
  const file = join(folder, 'rows.json')
  const curves = join(folder, 'curves')
  const kept = ['--json', file, '--commit', 'abcdef0', '--curves', curves]
  const { status, stdout, stderr } = run('--tiny', '--graphs', '--overlap', ...kept)
  expect({ status, failed: stderr.match(/failed: .*/g) }).toEqual({ status: 0, failed: null })
  const written = JSON.parse(readFileSync(file, 'utf8')) as { case: string; floor: null }[]
  expect(written.map((row) => row.case)).toEqual(bars.map((bar) => bar.case.replace('8B', 'tiny')))
  for (const row of written) {
    rows.checkRow(row)
    expect(row.floor).toBeNull()
    expect(stdout).toContain(row.case)
  }
  expect(readdirSync(curves).filter((name) => name.endsWith('.svg'))).toHaveLength(4)
  const csv = readdirSync(curves).find((name) => name.endsWith('.csv'))!
  expect(readFileSync(join(curves, csv), 'utf8')).toMatch(
    /^ms,driverBytes,limitBytes\n(\d+,\d+,\d+\n)+$/,
  )
})

test('what is asked for wrongly is refused', () => {
  expect(run('--tiny', '--record').stderr).toMatch(/--tiny measures nothing worth a record/)
  expect(run('--only', 'no such case').stderr).toMatch(/no case contains no such case/)
  expect(run('--device', 'cuda:9', '--tiny').status).toBe(1)
  expect(run('--list', '--only', 'W4A16').stdout).toBe(
    '8B W4A16, batch 1\n8B W4A16, batch 64\n8B W4A16, batch 256\n',
  )
})
