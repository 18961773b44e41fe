/** `octavo memtrace`: runs a command with our tracing library preloaded. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { OctavoError } from '../errors.js'
import { Arguments, type Flags } from './arguments.js'
import { exitCodes } from './exit.js'
import { output, tell } from './output.js'
import { UsageError } from './usage.js'

const help = `octavo memtrace [options] -- COMMAND [arguments]

Runs COMMAND and traces what it takes from the CUDA driver: device, managed, stream-ordered, virtual and pinned
memory, streams, events, graphs. At its end a report on stderr says what was never freed, by call stack. Works on any
program that uses libcuda.so.1 (PyTorch, vLLM, a CUDA runtime linked in), on Linux, x64 and arm64. Needs no rebuild.

      --json FILE          the report as JSON too; %p in a name becomes the process id
      --events FILE        every allocation and free, one JSON object a line
      --max-events N       the event log ends there (default 10000000)
      --output FILE        the report to a file instead of stderr
      --top N              stacks shown (default 20)
      --min-bytes N        sum up stacks that hold less
      --frames N           native frames a stack, 1 to 32 (default 8)
      --python N           also Python frames, 1 to 32 (default none; Python 3.10 or later)
      --live               report on SIGUSR2 as well, and go on
      --term               report when SIGTERM or SIGHUP ends the process
      --no-children        do not trace the programs that COMMAND starts
  -h, --help

Exit code: the command's own (128 + n when signal n ended it) · 127 command not found · 126 it cannot be run ·
2 wrong command line · 1 the tracer cannot run here
`

const flags: Flags = {
  json: { type: 'string' },
  events: { type: 'string' },
  'max-events': { type: 'string' },
  output: { type: 'string' },
  top: { type: 'string' },
  'min-bytes': { type: 'string' },
  frames: { type: 'string' },
  python: { type: 'string' },
  live: { type: 'boolean' },
  term: { type: 'boolean' },
  'no-children': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

const refuse = (sentence: string): UsageError => new UsageError(sentence)

/** Runs the command; its exit code. Throws OCTAVO_NATIVE_MISSING where the tracer cannot run. */
export async function run(argv: readonly string[]): Promise<number> {
  const { options, command } = split(argv)
  const args = new Arguments(options, flags)
  if (args.has('help')) {
    await output.write(help)
    return exitCodes.done
  }
  const [stray] = args.positionals
  if (stray !== undefined) {
    throw refuse(`memtrace got '${stray}' before --; write octavo memtrace [options] -- ${stray} …`)
  }
  const [program, ...programArguments] = command
  if (program === undefined) {
    throw refuse('memtrace needs a command: octavo memtrace [options] -- COMMAND [arguments]')
  }
  return follow(program, programArguments, { ...preload(), ...settings(args) })
}

/** What stands before `--` is ours, what stands after it is the command. */
function split(argv: readonly string[]): { options: string[]; command: string[] } {
  const border = argv.indexOf('--')
  if (border < 0) return { options: [...argv], command: [] }
  return { options: argv.slice(0, border), command: argv.slice(border + 1) }
}

/** The variables of docs/memtrace.md that the options stand for. */
function settings(args: Arguments): Record<string, string> {
  const files = ['json', 'events', 'output'].map((name) => [name, pathOf(args, name)] as const)
  const whole = { min: 0, max: Number.MAX_SAFE_INTEGER }
  const numbers = [
    ['top', args.integer('top', whole)],
    ['min-bytes', args.integer('min-bytes', whole)],
    ['max-events', args.integer('max-events', whole)],
    ['frames', args.integer('frames', { min: 1, max: 32 })],
    ['python', args.integer('python', { min: 1, max: 32 })],
    ['live', args.has('live') ? 1 : undefined],
    ['term', args.has('term') ? 1 : undefined],
    ['children', args.has('no-children') ? 0 : undefined],
  ] as const
  const variables: Record<string, string> = {}
  for (const [name, value] of [...files, ...numbers]) {
    const variable = `OCTAVO_MEMTRACE_${name.toUpperCase().replace('-', '_')}`
    if (value !== undefined) variables[variable] = String(value)
  }
  return variables
}

/** Absolute, because the command may change its folder. */
function pathOf(args: Arguments, name: string): string | undefined {
  const path = args.path(name)
  if (path === undefined) return undefined
  const absolute = resolve(path)
  if (existsSync(dirname(absolute))) return absolute
  throw refuse(`--${name} is '${path}'; there is no folder ${dirname(absolute)}`)
}

/** Behind what is preloaded already: some libraries insist on being first. */
function preload(): Record<string, string> {
  const before = process.env['LD_PRELOAD']
  const library = findLibrary()
  return { LD_PRELOAD: before ? `${before}:${library}` : library }
}

/**
 * The library: a local build first, then the shipped file; in the folder that OCTAVO_PREBUILD names, or in the
 * package. Throws OCTAVO_NATIVE_MISSING.
 */
export function findLibrary(): string {
  const { platform, arch } = process
  const missing = (sentence: string): OctavoError =>
    new OctavoError('OCTAVO_NATIVE_MISSING', sentence)
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64')) {
    throw missing(`memtrace runs on Linux, x64 and arm64; this is ${platform}-${arch}`)
  }
  const root = process.env['OCTAVO_PREBUILD'] || join(__dirname, '..', '..')
  const name = 'octavo-memtrace.so'
  const places = [join(root, 'build', 'Release'), join(root, 'prebuilds', `${platform}-${arch}`)]
  const found = places.map((place) => join(place, name)).find((file) => existsSync(file))
  if (found === undefined) {
    const looked = places.join(' or ')
    throw missing(`no ${name} in ${looked}: build it with \`npx octavo build\` (it needs glibc)`)
  }
  // The loader takes a blank or a colon in LD_PRELOAD for the end of a name.
  if (/[\s:]/.test(found))
    throw missing(`${found} cannot be preloaded: its path has a blank or ':'`)
  return found
}

/** Signals that a shell or a supervisor sends. A terminal sends Ctrl-C and Ctrl-\ to the command itself. */
function forwarded(): NodeJS.Signals[] {
  const always: NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT']
  return process.stdin.isTTY ? always : [...always, 'SIGINT', 'SIGQUIT']
}

/** Runs the command to its end; its exit code. */
async function follow(
  program: string,
  programArguments: readonly string[],
  environment: Record<string, string>,
): Promise<number> {
  const env = { ...process.env, ...environment }
  // Before the command runs: a signal must not end us and leave it behind. Listeners run between two turns alone.
  for (const signal of forwarded()) process.on(signal, () => child.kill(signal))
  if (process.stdin.isTTY) for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => {})
  const child = spawn(program, programArguments, { stdio: 'inherit', env })
  return new Promise((done) => {
    child.on('error', (error: NodeJS.ErrnoException) => done(notRun(program, error)))
    child.on('exit', (code, signal) => {
      done(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}

/** As a shell has it: 127 for a command that is not there, 126 for one that cannot be run. */
function notRun(program: string, error: NodeJS.ErrnoException): number {
  const absent = error.code === 'ENOENT'
  const why = absent ? 'it was not found' : error.message
  tell(`octavo: memtrace cannot run '${program}': ${why} (OCTAVO_INVALID_ARGUMENT)\n`)
  return absent ? 127 : 126
}
