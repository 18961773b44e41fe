/** `octavo build`: compiles the addon from the sources that the package carries. */
import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { OctavoError } from '../errors.js'
import {
  buildWithCMake,
  findCMake,
  type BuildOptions,
  type CudaChoice,
} from '../toolchain/cmake.js'
import { buildWithNodeGyp, findNodeGyp } from '../toolchain/gyp.js'
import { capture, findOnPath } from '../toolchain/process.js'

const help = `octavo build [options]

Compiles build/Release/octavo.node inside the installed package. It needs a C++20 compiler and
cmake 3.24 or later (ninja is used when it is there). With nvcc the CUDA kernels are built in.

  --cuda on|off|auto   auto (default): with CUDA when nvcc is found; env OCTAVO_CUDA sets it too
  --jobs N             compilers at once (default: the number of processors)
  --debug              no optimisation, with symbols
  --verbose            print everything that the tools print
  --help
`

interface BuildArguments {
  cuda: CudaChoice
  jobs: number
  debug: boolean
  verbose: boolean
  help: boolean
}

/** Runs the command; the exit status. Throws OCTAVO_BUILD_FAILED, naming what is missing. */
export async function run(argv: string[]): Promise<number> {
  const args = parse(argv)
  if (args.help) {
    process.stdout.write(help)
    return 0
  }
  const started = performance.now()
  const folder = join(__dirname, '..', '..')
  requireCompiler()
  await compile({ folder, ...args, onLine: (line) => show(line, args.verbose) })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  say(`${describe(join(folder, 'build', 'Release', 'octavo.node'))}, ${seconds} s`)
  return 0
}

function parse(argv: string[]): BuildArguments {
  const { values } = parseOptions(argv)
  const cuda = (values.cuda ?? process.env['OCTAVO_CUDA'] ?? 'auto').toLowerCase()
  if (cuda !== 'auto' && cuda !== 'on' && cuda !== 'off') {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `--cuda is '${cuda}'; it takes on, off or auto`,
    )
  }
  const jobs = Number(values.jobs ?? availableParallelism())
  if (!Number.isSafeInteger(jobs) || jobs < 1) {
    throw new OctavoError(
      'OCTAVO_INVALID_ARGUMENT',
      `--jobs is '${values.jobs}'; it takes a whole number of 1 or more`,
    )
  }
  const { debug = false, verbose = false, help = false } = values
  return { cuda, jobs, debug, verbose, help }
}

function parseOptions(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      options: {
        cuda: { type: 'string' },
        jobs: { type: 'string', short: 'j' },
        debug: { type: 'boolean' },
        verbose: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (cause) {
    throw new OctavoError('OCTAVO_UNKNOWN_OPTION', `${(cause as Error).message}\n\n${help}`, {
      cause,
    })
  }
}

function requireCompiler(): void {
  const names = [process.env['CXX'], 'c++', 'g++', 'clang++']
  if (process.platform === 'win32') return
  if (names.some((name) => name && (name.includes('/') || findOnPath(name) !== null))) return
  throw new OctavoError(
    'OCTAVO_BUILD_FAILED',
    'no C++ compiler on PATH (looked for $CXX, c++, g++, clang++); on Debian: apt-get install g++ cmake ninja-build',
  )
}

async function compile(options: BuildOptions): Promise<void> {
  const cmake = findCMake()
  if ('path' in cmake) return buildWithCMake(cmake.path, options)
  if (options.cuda === 'on') {
    throw new OctavoError(
      'OCTAVO_BUILD_FAILED',
      `--cuda on needs cmake, but ${cmake.missing}; on Debian: apt-get install cmake ninja-build`,
    )
  }
  const nodeGyp = findNodeGyp(options.folder)
  if (nodeGyp === null) {
    throw new OctavoError(
      'OCTAVO_BUILD_FAILED',
      `${cmake.missing}, and no node-gyp was found to build without it; on Debian: apt-get install cmake ninja-build`,
    )
  }
  say(`${cmake.missing}: building with node-gyp, for the CPU only`)
  return buildWithNodeGyp(nodeGyp, options)
}

/** Loads the new binary in a process of its own, so that a broken one is found here. */
function describe(file: string): string {
  const script = `const { version, buildInfo } = require(process.argv[1]); console.log(version, buildInfo.cuda ? buildInfo.architectures : 'CPU only')`
  const answer = capture(process.execPath, ['-e', script, file])
  if (answer === null) {
    throw new OctavoError('OCTAVO_BUILD_FAILED', `${file} was built but node cannot load it`)
  }
  return `${file}: ${answer}, ${statSync(file).size} bytes`
}

/** Progress of cmake, ninja, make and node-gyp; what is left are the compilers' complaints. */
const noise =
  /^(-- |\[\s*\d+[/%]|ninja: |gyp (info|http)|make(\[\d+\])?: |\s+(CXX|SOLINK|COPY|TOUCH)|\s*$)/

/** Without --verbose: our own lines of the configure step, and the compilers' complaints. */
function show(line: string, verbose: boolean): void {
  const ours = /^-- octavo: (.*)/.exec(line)?.[1]
  if (verbose) process.stderr.write(`${line}\n`)
  else if (ours !== undefined) say(ours)
  else if (!noise.test(line)) process.stderr.write(`${line}\n`)
}

function say(sentence: string): void {
  process.stderr.write(`octavo: ${sentence}\n`)
}
