/** `octavo trace`: what to do with a memory snapshot. */
import { stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { OutputFile } from '../trace/file.js'
import { viewerPage } from '../trace/page.js'
import { pickle } from '../trace/pickle.js'
import { torchSnapshot } from '../trace/pytorch.js'
import { readSnapshot } from '../trace/read.js'
import { mostViewedEvents, viewData } from '../trace/view-data.js'
import { Arguments, type Flags } from './arguments.js'
import { exitCodes, exitCodesHelp } from './exit.js'
import { formatBytes } from './format.js'
import { output, tell } from './output.js'
import { UsageError } from './usage.js'

const help = `octavo trace view SNAPSHOT [--out PAGE.html]
octavo trace export SNAPSHOT --format pytorch [--out FILE.pickle]

SNAPSHOT is what JSON.stringify(engine.memorySnapshot()) or --memory-snapshot wrote, or a spill file of trace level 3.

view     makes one HTML page that needs nothing else: timeline, events with stacks, owners, map of the memory
export   writes what torch.cuda.memory._dump_snapshot writes: open it with docs.pytorch.org/memory_viz or with
         python -m torch.cuda._memory_viz

      --out FILE           where to write (default: beside SNAPSHOT, ending in .html or .pickle)
      --format FORMAT      pytorch
      --max-events N       view: events in the page, the newest (default ${mostViewedEvents})
  -h, --help

${exitCodesHelp}
`

const flags: Flags = {
  out: { type: 'string', short: 'o' },
  format: { type: 'string' },
  'max-events': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
}

const refuse = (sentence: string): UsageError => new UsageError(sentence)

/** SNAPSHOT.json becomes SNAPSHOT.html. */
const beside = (path: string, ending: string): string =>
  `${path.slice(0, path.length - extname(path).length)}${ending}`

async function save(path: string, content: string | Uint8Array): Promise<void> {
  const bytes = await (await OutputFile.make(path)).write([content])
  tell(`octavo: ${path}, ${formatBytes(bytes)}\n`)
}

/** Where to write. Throws OCTAVO_INVALID_ARGUMENT where that is the snapshot itself, under whatever name. */
async function outputPath(path: string, args: Arguments, ending: string): Promise<string> {
  const out = args.path('out') ?? beside(path, ending)
  const [from, to] = await Promise.all([path, out].map((one) => stat(one).catch(() => null)))
  if (from && to && from.dev === to.dev && from.ino === to.ino) {
    throw refuse(
      `'${out}' is SNAPSHOT itself; it would be overwritten. Name another file with --out`,
    )
  }
  return out
}

async function view(path: string, args: Arguments): Promise<void> {
  const most = args.integer('max-events', { min: 1, max: 5_000_000 }) ?? mostViewedEvents
  const out = await outputPath(path, args, '.html')
  const snapshot = await readSnapshot(path)
  const page = viewerPage(viewData(snapshot, basename(path), most))
  await save(out, page)
}

async function exportSnapshot(path: string, args: Arguments): Promise<void> {
  const format = args.text('format')
  if (format !== 'pytorch') {
    throw refuse(
      `--format is ${format === undefined ? 'missing' : `'${format}'`}; it takes pytorch`,
    )
  }
  const out = await outputPath(path, args, '.pickle')
  const snapshot = await readSnapshot(path)
  await save(out, pickle(torchSnapshot(snapshot)))
}

const actions: Record<string, (path: string, args: Arguments) => Promise<void>> = {
  view,
  export: exportSnapshot,
}

/** Runs the command; the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  const args = new Arguments(argv, flags)
  if (args.has('help')) {
    await output.write(help)
    return exitCodes.done
  }
  const [name = '', path, ...more] = args.positionals
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (action === undefined)
    throw refuse(`trace takes view or export and got '${name}' (see --help)`)
  if (path === undefined || more.length > 0) {
    const count = args.positionals.length - 1
    throw refuse(`trace ${name} takes one SNAPSHOT and got ${count} (see --help)`)
  }
  if (path === '') throw refuse(`SNAPSHOT is ''; trace ${name} takes the path of a file`)
  await action(path, args)
  return exitCodes.done
}
