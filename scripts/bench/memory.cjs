// The memory bars, section by section: node --expose-gc scripts/bench/memory.cjs [--device cpu] [SECTION…]
// A section that keeps figures writes rows for `npm run performance` to the file --json names.
// A section is a file of scripts/bench/memory/ that exports `title` and `run({ device, folder })`, which resolves to
// rows [what, figure, bar]. --folder says where large files are written (default: the system's temporary folder).
'use strict'
const { execFileSync } = require('node:child_process')
const { readdirSync } = require('node:fs')
const { basename, join } = require('node:path')
const { parseArgs } = require('node:util')

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

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      device: { type: 'string', default: 'cpu' },
      folder: { type: 'string' },
      json: { type: 'string' },
      commit: {
        type: 'string',
        default: execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim(),
      },
    },
  })
  const known = sections()
  const names = positionals.length > 0 ? positionals : [...known.keys()]
  for (const name of names) {
    const section = known.get(name)
    if (!section) throw new Error(`no section '${name}'; there are ${[...known.keys()].join(', ')}`)
    console.log(`\n## ${section.title} (${name}, ${values.device})\n`)
    for (const [what, figure, bar] of await section.run(values)) {
      console.log(`${what.padEnd(44)} ${String(figure).padStart(16)}   ${bar}`)
    }
  }
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
