// The memory bars, section by section:
//   node --expose-gc scripts/bench/memory.cjs [--device cpu] [--folder DIR] [--json ROWS.json] [--commit HASH] [SECTION…]
// A section is a file of scripts/bench/memory/ that exports `title` and `run(options)`, which resolves to rows
// [what, figure, bar, kept?]. `kept` is what docs/performance.json keeps of it: { case, value, unit, better } and, where
// there is one, floor, goal, peer and limit; --json writes these, with machine, date and commit, for
// `npm run performance -- ROWS.json`. --folder says where large files are written (default: the system's temporary
// folder); --seconds, --megabytes, --rounds and --times make sections longer or shorter. Needs no git where --commit is
// given, and no npm.
'use strict'
const { execFileSync } = require('node:child_process')
const { readdirSync, writeFileSync } = require('node:fs')
const { cpus } = require('node:os')
const { basename, join } = require('node:path')
const { parseArgs } = require('node:util')
const { loadNative } = require('../../dist/native.js')

const home = join(__dirname, 'memory')

function sections() {
  const found = new Map()
  for (const file of readdirSync(home)
    .filter((name) => name.endsWith('.cjs'))
    .sort()) {
    const section = require(join(home, file))
    if (section.run && section.title) found.set(basename(file, '.cjs'), section)
  }
  return found
}

function cardName(device) {
  if (device === 'cpu') return cpus()[0].model.trim()
  return loadNative()
    .listDevices()
    .find(({ id }) => id === device).name
}

const head = () => execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()

/** Rows as docs/performance.json keeps them. */
function completeRows(kept, { device, commit = head() }) {
  const date = new Date().toISOString().slice(0, 10)
  const common = { area: 'memory', card: cardName(device), date, commit }
  const absent = { floor: null, goal: null, peer: null, limit: null }
  return kept.map((row) => ({ ...absent, ...row, ...common }))
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      device: { type: 'string', default: 'cpu' },
      folder: { type: 'string' },
      json: { type: 'string' },
      commit: { type: 'string' },
      seconds: { type: 'string' },
      megabytes: { type: 'string' },
      rounds: { type: 'string' },
      times: { type: 'string' },
    },
  })
  const known = sections()
  const names = positionals.length > 0 ? positionals : [...known.keys()]
  const numbers = Object.fromEntries(
    ['seconds', 'megabytes', 'rounds', 'times']
      .filter((name) => values[name] !== undefined)
      .map((name) => [name, Number(values[name])]),
  )
  const all = []
  const options = { ...values, ...numbers }
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new Error(`no section '${unknown}'; there are ${[...known.keys()].join(', ')}`)
  for (const name of names) {
    all.push(...(await runSection(name, known.get(name), options)))
    if (values.json) writeFileSync(values.json, JSON.stringify(completeRows(all, values), null, 2))
  }
}

/** Prints a section and resolves to what it keeps; one that fails is told, and the next ones run. */
async function runSection(name, section, options) {
  const began = Date.now()
  const all = []
  console.log(`\n## ${section.title} (${name}, ${options.device})\n`)
  try {
    for (const [what, figure, bar, kept] of await section.run(options)) {
      console.log(`${what.padEnd(48)} ${String(figure).padStart(18)}   ${bar}`)
      if (kept) all.push(kept)
    }
  } catch (error) {
    console.error(error)
    process.exitCode = 1
  }
  console.log(`(${((Date.now() - began) / 1000).toFixed(1)} s)`)
  return all
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
