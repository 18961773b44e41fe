// The engine's bars: dummy weights of a published shape, ours beside peer, floor and goal.
//   node scripts/bench/engine.cjs [--device cuda:0] [--only TEXT]… [--list] [--json ROWS.json] [--record] [--commit HASH]
//                                 [--curves FOLDER] [--seconds N] [--repeats N] [--graphs] [--overlap] [--tiny]
// Needs the addon and dist/ alone, no npm and, with --commit, no git. Cases that share an engine run on one. --curves writes the
// driver's memory of the `limit` and `sessions` cases, sampled every 100 ms, as CSV and SVG. --seconds makes the sessions shorter.
// --tiny runs every case with a model of a megabyte, small batches and no bars: whether this program works, on any machine.
'use strict'
const { execFileSync } = require('node:child_process')
const { writeFileSync } = require('node:fs')
const { cpus } = require('node:os')
const { parseArgs } = require('node:util')
const { loadNative } = require('../../dist/native.js')
const { appendRows } = require('../performance-rows.cjs')
const { measureAll } = require('./engine/measures.cjs')
const { shrink } = require('./engine/tiny.cjs')
const { resultsOf, rowsOf } = require('./kernels/results.cjs')
const { tableOf } = require('./kernels/table.cjs')

const options = {
  device: { type: 'string', default: 'cuda:0' },
  only: { type: 'string', multiple: true, default: [] },
  list: { type: 'boolean', default: false },
  json: { type: 'string' },
  record: { type: 'boolean', default: false },
  commit: { type: 'string' },
  curves: { type: 'string' },
  seconds: { type: 'string' },
  repeats: { type: 'string', default: '3' },
  graphs: { type: 'boolean' },
  overlap: { type: 'boolean' },
  tiny: { type: 'boolean', default: false },
}

function cardName(device) {
  if (device === 'cpu') return cpus()[0].model.trim()
  const found = loadNative()
    .listDevices()
    .find(({ id }) => id === device)
  if (found === undefined) throw new Error(`there is no device ${device}`)
  return found.name
}

const head = () => execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()

/** Keeps the rows where asked. */
function keep(results, card, values) {
  if (!values.json && !values.record) return
  const commit = values.commit ?? head()
  const date = new Date().toISOString().slice(0, 10)
  const rows = rowsOf(results, { area: 'engine', card, commit, date })
  if (values.json) writeFileSync(values.json, JSON.stringify(rows, null, 2))
  if (values.record) appendRows(rows)
}

async function main() {
  const { values } = parseArgs({ options })
  if (values.tiny && values.record) throw new Error('--tiny measures nothing worth a record')
  const all = require('./engine-bars.json')
  const bars = values.tiny ? all.map(shrink) : all
  const isAsked = (of) => values.only.length === 0 || values.only.some((text) => of.includes(text))
  const asked = bars.filter((bar) => isAsked(bar.case))
  if (asked.length === 0) throw new Error(`no case contains ${values.only.join(' or ')}`)
  if (values.list) return asked.forEach(({ case: name }) => console.log(name))
  const card = cardName(values.device)
  const measured = await measureAll(asked, {
    device: values.device,
    repeats: Number(values.repeats),
    curves: values.curves,
    graphs: values.graphs,
    overlap: values.overlap,
    ...(values.seconds !== undefined && { seconds: Number(values.seconds) }),
  })
  const runnable = asked.map((bar) => bar.case)
  const results = resultsOf(asked, { runnable, measured, peers: [] })
  console.log(`\nengine on ${card}\n\n${tableOf(results)}`)
  keep(results, card, values)
  if (measured.length < asked.length) process.exitCode = 1
}

main().catch((error) => {
  console.error(`bench:engine: ${error.stack}`)
  process.exitCode = 1
})
