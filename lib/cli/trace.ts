/** `octavo trace`: what to do with a memory snapshot. */
import { basename, extname } from 'node:path'
import { OctavoError } from '../errors.js'
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

const refuse = (sentence: string): OctavoError =>
  new OctavoError('OCTAVO_INVALID_ARGUMENT', sentence)

/** SNAPSHOT.json becomes SNAPSHOT.html. */
const beside = (path: string, ending: string): string =>
  `${path.slice(0, path.length - extname(path).length)}${ending}`

async function save(path: string, content: string | Uint8Array): Promise<void> {
  const bytes = await (await OutputFile.make(path)).write([content])
  tell(`octavo: ${path}, ${formatBytes(bytes)}\n`)
}

async function view(path: string, args: Arguments): Promise<void> {
  const most = args.integer('max-events', { min: 1, max: 5_000_000 }) ?? mostViewedEvents
  const out = args.path('out')
  const snapshot = await readSnapshot(path)
  const page = viewerPage(viewData(snapshot, basename(path), most))
  await save(out ?? beside(path, '.html'), page)
}

async function exportSnapshot(path: string, args: Arguments): Promise<void> {
  const format = args.text('format')
  if (format !== 'pytorch') {
    throw refuse(
      `--format is ${format === undefined ? 'missing' : `'${format}'`}; it takes pytorch`,
    )
  }
  const out = args.path('out')
  const snapshot = await readSnapshot(path)
  await save(out ?? beside(path, '.pickle'), pickle(torchSnapshot(snapshot)))
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
