// The real request traces in shared/traces: seconds of arrival, tokens in, tokens out.
'use strict'
const { existsSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

const shared = process.env.OCTAVO_SHARED ?? join(__dirname, '..', '..', '..', '..', 'shared')
const folder = join(shared, 'traces')

const lines = (name) => readFileSync(join(folder, name), 'utf8').trim().split('\n')

/** "2023-11-16 18:15:46.6805900", in seconds since the epoch. */
const seconds = (text) => Date.parse(`${text.slice(0, 23).replace(' ', 'T')}Z`) / 1000

function azure(name) {
  const rows = lines(name)
    .slice(1)
    .map((line) => line.trim().split(','))
  return rows.map(([time, input, output]) => ({
    arrival: seconds(time) - seconds(rows[0][0]),
    input: Number(input),
    output: Number(output),
  }))
}

const mooncake = (name) =>
  lines(name)
    .map((line) => JSON.parse(line))
    .map(({ timestamp, input_length, output_length }) => ({
      arrival: timestamp / 1000,
      input: input_length,
      output: output_length,
    }))

const traces = {
  'Azure code': () => azure('azure-2023-code.csv'),
  'Azure conversation': () => azure('azure-2023-conversation.csv'),
  'Mooncake conversation': () => mooncake('mooncake-conversation.jsonl'),
}

module.exports = { traces, hasTraces: () => existsSync(folder) }
