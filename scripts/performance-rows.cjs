// The figures of docs/performance.json: what a row must say, how rows are kept and how they are shown.
// Benchmarks call `appendRows([...])`; docs/performance.md is rendered from the file and never edited.
'use strict'
const { existsSync, readFileSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const folder = join(__dirname, '..', 'docs')
const dataFile = join(folder, 'performance.json')
const pageFile = join(folder, 'performance.md')

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value)
const isText = (value) => typeof value === 'string' && value.trim() !== ''
const orNull = (test) => (value) => value === null || test(value)
const isReference = (value) =>
  typeof value === 'object' && isText(value.name) && isNumber(value.value)

/** floor: below it an issue is not done. goal: what we aim at. peer, limit: { name, value }. */
const fields = {
  area: isText,
  case: isText,
  value: isNumber,
  unit: isText,
  better: (value) => value === 'higher' || value === 'lower',
  floor: orNull(isNumber),
  goal: orNull(isNumber),
  peer: orNull(isReference),
  limit: orNull(isReference),
  card: isText,
  date: (value) => /^\d{4}-\d\d-\d\d$/.test(value),
  commit: (value) => /^[0-9a-f]{7,40}$/.test(value),
}

/** Throws, naming the field, when a row lacks something, has something unknown or a value that cannot be. */
function checkRow(row) {
  for (const [name, isValid] of Object.entries(fields)) {
    if (!isValid(row[name]))
      throw new Error(`performance row: ${name} is ${JSON.stringify(row[name])}`)
  }
  const unknown = Object.keys(row).find((name) => !(name in fields))
  if (unknown !== undefined) throw new Error(`performance row: ${unknown} is not a field`)
}

const keyOf = (row) => [row.area, row.case, row.unit, row.card].join('\n')

/** One row a case and machine, the newest, sorted by area. */
function mergeRows(old, added) {
  const rows = new Map([...old, ...added].map((row) => [keyOf(row), row]))
  return [...rows.values()].sort((a, b) => a.area.localeCompare(b.area))
}

function readRows() {
  return existsSync(dataFile) ? JSON.parse(readFileSync(dataFile, 'utf8')) : []
}

const figure = (value) => value.toLocaleString('en-US', { maximumFractionDigits: 3 })

function valueCell(row) {
  const sign = row.better === 'higher' ? 1 : -1
  const missed = row.floor !== null && sign * (row.value - row.floor) < 0
  return `${figure(row.value)} ${row.unit}${missed ? ', below the floor' : ''}`
}

function referenceCell(row, reference) {
  if (reference === null) return ''
  const share = row.better === 'higher' ? row.value / reference.value : reference.value / row.value
  return `${figure(reference.value)} (${figure(share * 100)} % of ${reference.name})`
}

function line(row) {
  const bar = (value) => (value === null ? '' : figure(value))
  const cells = [
    row.case,
    valueCell(row),
    bar(row.floor),
    bar(row.goal),
    referenceCell(row, row.peer),
    referenceCell(row, row.limit),
    row.card,
    row.date,
    `\`${row.commit.slice(0, 7)}\``,
  ]
  return `| ${cells.join(' | ')} |`
}

/** The page: one table an area. */
function render(rows) {
  const head = [
    '# Performance',
    '',
    'Rendered from `performance.json` by `npm run performance`; every figure carries its machine, date and',
    'commit. The floor is what an issue demands, the goal what it aims at; a peer or a physical limit was',
    'measured in the same run, unless the peer is `quoted` (its best public figure on an H200), and the share',
    'beside it is ours of theirs (for a time: theirs of ours).',
    '',
  ]
  const areas = [...new Set(rows.map(({ area }) => area))]
  const tables = areas.flatMap((area) => [
    `## ${area}`,
    '',
    '| case | measured | floor | goal | peer | limit | machine | date | commit |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows.filter((row) => row.area === area).map(line),
    '',
  ])
  return [...head, ...tables].join('\n')
}

/** Checks the rows, keeps them and renders the page anew. */
function appendRows(added) {
  added.forEach(checkRow)
  const rows = mergeRows(readRows(), added)
  writeFileSync(dataFile, `${JSON.stringify(rows, null, 2)}\n`)
  writeFileSync(pageFile, render(rows))
}

module.exports = { appendRows, checkRow, mergeRows, readRows, render }
