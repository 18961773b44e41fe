// The command line of bench:attention and bench:gemm.
'use strict'
const { execFileSync } = require('node:child_process')
const { writeFileSync } = require('node:fs')
const { parseArgs } = require('node:util')
const { appendRows } = require('../../performance-rows.cjs')
const { hasTorch, runPeers } = require('./peers.cjs')
const { findProgram, listCases, runProgram } = require('./program.cjs')
const { checkCases, resultsOf, rowsOf } = require('./results.cjs')
const { tableOf } = require('./table.cjs')

const options = {
  list: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true, default: [] },
  json: { type: 'string' },
  record: { type: 'boolean', default: false },
  commit: { type: 'string' },
  'no-peers': { type: 'boolean', default: false },
}

const head = () => execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()

/** Keeps the rows where asked. */
function keep(results, { area, card }, values) {
  if (!values.json && !values.record) return
  const commit = values.commit ?? head()
  const date = new Date().toISOString().slice(0, 10)
  const rows = rowsOf(results, { area, card, commit, date })
  if (values.json) writeFileSync(values.json, JSON.stringify(rows, null, 2))
  if (values.record) appendRows(rows)
}

function bench({ area, target, bars, peerScript }) {
  const { values } = parseArgs({ options })
  const isAsked = (of) => values.only.length === 0 || values.only.some((text) => of.includes(text))
  const asked = bars.filter((bar) => isAsked(bar.case))
  if (asked.length === 0) throw new Error(`no case contains ${values.only.join(' or ')}`)
  const program = findProgram(target)
  const runnable = listCases(program)
  checkCases(bars, runnable)
  if (values.list) {
    for (const { case: name } of asked)
      console.log(runnable.includes(name) ? name : `${name} (not yet)`)
    return
  }
  const { card, measured, failure } = runProgram(program, values.only)
  const runsPeers = !values['no-peers'] && hasTorch()
  const peers = runsPeers ? runPeers(peerScript, values.only) : []
  const results = resultsOf(asked, { runnable, measured, peers })
  console.log(`${area} on ${card}${runsPeers ? '' : ' (no peer ran)'}\n`)
  console.log(tableOf(results))
  keep(results, { area, card }, values)
  if (failure) throw new Error(failure)
  if (results.some(({ verdict }) => verdict === 'wrong')) process.exitCode = 1
}

/** Runs the benchmark; an error becomes its sentence and status 1. */
function main(benchmark) {
  try {
    bench(benchmark)
  } catch (error) {
    console.error(`bench:${benchmark.area}: ${error.message}`)
    process.exitCode = 1
  }
}

module.exports = { main }
