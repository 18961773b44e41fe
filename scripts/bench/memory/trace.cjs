// What a trace costs, an event: allocations and frees in turn, recorded in C++ under a stack of ten frames of its own.
'use strict'
const { join } = require('node:path')
const load = require('node-gyp-build')

const { Trace } = load(join(__dirname, '..', '..', '..')).testing
const options = { ringEvents: 65536, sampleBytes: 2 ** 20, spillBytes: 0 }
const events = 1_000_000
const rounds = 7

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]

/** Nanoseconds an event, calls and loop included. */
function costAt(level) {
  const trace = new Trace({ ...options, level })
  trace.cost(events / 10)
  const cost = median(Array.from({ length: rounds }, () => trace.cost(events)))
  trace.check()
  trace.dispose()
  return cost
}

const bars = ['the loop and its calls, and one branch', '', 'at most 1000 ns', '']

async function run() {
  return bars.map((bar, level) => [
    `trace: an event at level ${level}`,
    `${costAt(level).toFixed(1)} ns`,
    bar,
  ])
}

module.exports = { title: 'Cost of tracing', run }
