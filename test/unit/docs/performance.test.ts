/** docs/performance.md is rendered from docs/performance.json: `npm run performance`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './blocks.js'

interface Rows {
  readRows(): Record<string, unknown>[]
  checkRow(row: unknown): void
  mergeRows(old: object[], added: object[]): Record<string, unknown>[]
  render(rows: object[]): string
}
 
const rows = require('../../../scripts/performance-rows.cjs') as Rows

const row = {
  area: 'generate',
  case: 'stories260K, 1 sequence',
  value: 1000,
  unit: 'tokens/s',
  better: 'higher',
  floor: 800,
  goal: 1200,
  peer: { name: 'a peer', value: 900 },
  limit: { name: 'memory', value: 5000 },
  card: 'CPU, 2 cores',
  date: '2026-11-29',
  commit: 'abcdef0',
}

it('is what the rows render to', () => {
  expect(readFileSync(join(root, 'docs', 'performance.md'), 'utf8')).toBe(rows.render(rows.readRows()))
})

it('accepts a whole row and refuses one that says less', () => {
  expect(() => rows.checkRow(row)).not.toThrow()
  const { card: _card, ...anonymous } = row
  expect(() => rows.checkRow(anonymous)).toThrow(/card/)
  expect(() => rows.checkRow({ ...row, value: Number.NaN })).toThrow(/value/)
  expect(() => rows.checkRow({ ...row, better: 'more' })).toThrow(/better/)
  expect(() => rows.checkRow({ ...row, extra: 1 })).toThrow(/extra/)
  expect(() => rows.checkRow({ ...row, date: 'today' })).toThrow(/date/)
})

it('keeps one row a case and machine: the newest', () => {
  const merged = rows.mergeRows([row], [{ ...row, value: 1100 }, { ...row, card: 'H200' }])
  expect(merged.map(({ value, card }) => [value, card])).toEqual([
    [1100, 'CPU, 2 cores'],
    [1000, 'H200'],
  ])
})

it('renders whether the floor was met', () => {
  expect(rows.render([row])).toMatch(/\| 1,000 tokens\/s \| 800 \| 1,200 \|.*20 % of memory/)
  expect(rows.render([{ ...row, value: 700 }])).toMatch(/700 tokens\/s, below the floor/)
})
