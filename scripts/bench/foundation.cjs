// Tokens a second, first-token time and the ledger at four moments, of the models named.
//   node scripts/bench/foundation.cjs --device cpu [--commit HASH] [--json ROWS.json] NAME=FOLDER…
// Greedy, median of `rounds`. Rows go to docs/performance.json by `npm run performance -- ROWS.json`.
'use strict'
const { execFileSync } = require('node:child_process')
const { writeFileSync } = require('node:fs')
const { cpus } = require('node:os')
const { basename } = require('node:path')
const { parseArgs } = require('node:util')
const { Engine } = require('../../dist/index.js')
const { loadNative } = require('../../dist/native.js')

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'cpu' },
    commit: { type: 'string' },
    json: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    sessions: { type: 'string', default: '32' },
    dtype: { type: 'string', default: 'auto' },
  },
})
const rounds = Number(options.rounds)
const sessions = Number(options.sessions)
const newTokens = 200
const promptLength = 256

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]
const driver = () => loadNative().memoryUse(options.device)

/** Ids that every vocabulary has. */
const promptOf = (length, seed) =>
  Array.from({ length }, (_, index) => 3 + ((index * 7919 + seed * 104729) % 500))

const greedy = { temperature: 0, ignoreEos: true }

async function decodeRate(engine, count) {
  const rates = []
  for (let round = 0; round < rounds; round++) {
    const open = Array.from({ length: count }, () => engine.createSession())
    const runs = open.map((session, index) =>
      session.generate(promptOf(4, index), { ...greedy, maxNewTokens: newTokens }),
    )
    const started = process.hrtime.bigint()
    await Promise.all(runs.map((run) => run.result))
    const seconds = Number(process.hrtime.bigint() - started) / 1e9
    rates.push((count * newTokens) / seconds)
    for (const session of open) session.dispose()
  }
  return median(rates)
}

/** Milliseconds until the first token of a prompt that no cache knows. */
async function firstToken(engine) {
  const times = []
  for (let round = 0; round < rounds; round++) {
    const session = engine.createSession()
    const run = session.generate(promptOf(promptLength, round), { ...greedy, maxNewTokens: 1 })
    times.push((await run.result).timings.firstTokenMs)
    session.dispose()
  }
  return median(times)
}

/** The ledger and the driver's figure at one moment. */
function moment(name, engine) {
  const ledger = engine?.memory()
  const { freeBytes, processBytes } = ledger?.driver ?? driver()
  const session = ledger?.ledger
    .filter(({ owner }) => owner.kind === 'session')
    .reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    moment: name,
    ledger: ledger?.allocatedBytes ?? 0,
    sessions: session ?? 0,
    driverProcess: processBytes,
    driverFree: freeBytes,
  }
}

async function ledgerMoments(folder) {
  const table = [moment('before load')]
  const engine = await Engine.load(folder, { device: options.device, dtype: options.dtype })
  table.push(moment('loaded', engine))
  const session = engine.createSession()
  const pieces = session.generate(promptOf(4, 1), { ...greedy, maxNewTokens: newTokens })
  const stream = pieces[Symbol.asyncIterator]()
  for (let taken = 0; taken < 50; taken++) await stream.next()
  table.push(moment('mid-stream', engine))
  await stream.return()
  session.dispose()
  table.push(moment('session disposed', engine))
  engine.dispose()
  table.push(moment('engine disposed'))
  return table
}

async function measure(name, folder) {
  const engine = await Engine.load(folder, { device: options.device, dtype: options.dtype })
  await decodeRate(engine, 1)
  const label = options.dtype === 'auto' ? name : `${name} ${options.dtype}`
  const found = [
    [`${label}: decode, batch 1`, await decodeRate(engine, 1), 'tok/s', 'higher'],
    [
      `${label}: decode, ${sessions} sessions`,
      await decodeRate(engine, sessions),
      'tok/s',
      'higher',
    ],
    [
      `${label}: first token of a ${promptLength}-token prompt`,
      await firstToken(engine),
      'ms',
      'lower',
    ],
  ]
  engine.dispose()
  return found
}

function cardName() {
  if (options.device === 'cpu') return `${cpus().length} × ${cpus()[0].model.trim()}`
  return loadNative()
    .listDevices()
    .find(({ id }) => id === options.device).name
}

async function main() {
  const commit =
    options.commit ?? execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
  const common = { floor: null, goal: null, peer: null, limit: null, card: cardName(), commit }
  const date = new Date().toISOString().slice(0, 10)
  const rows = []
  for (const argument of positionals) {
    const [name, folder] = argument.includes('=')
      ? argument.split('=')
      : [basename(argument), argument]
    console.log(`\n${name}: the ledger (bytes) beside the driver's figures`)
    console.table(await ledgerMoments(folder))
    for (const [label, value, unit, better] of await measure(name, folder)) {
      console.log(`${label}: ${value.toFixed(2)} ${unit}`)
      rows.push({ area: 'foundation', case: label, value, unit, better, date, ...common })
    }
  }
  if (options.json) writeFileSync(options.json, JSON.stringify(rows, null, 2))
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
