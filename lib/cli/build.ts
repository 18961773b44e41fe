/** `octavo build`: compiles the addon from the sources that the package carries. */
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { availableParallelism, constants } from 'node:os'
import { join } from 'node:path'
import { OctavoError } from '../errors.js'
import {
  buildWithCMake,
  findCMake,
  type BuildOptions,
  type CudaChoice,
} from '../toolchain/cmake.js'
import { buildWithNodeGyp, findNodeGyp } from '../toolchain/gyp.js'
import { findOnPath, isProgram, StoppedBySignal } from '../toolchain/process.js'
import { Arguments, type Flags } from './arguments.js'
import { BuildOutput } from './build-output.js'
import { exitCodes, exitCodesHelp } from './exit.js'
import { output } from './output.js'
import { UsageError } from './usage.js'

const help = `octavo build [options]

Compiles build/Release/octavo.node inside the installed package. It needs a C++20 compiler and
cmake 3.24 or later (ninja is used when it is there). With nvcc the CUDA kernels are built in.

  --cuda on|off|auto   auto: with CUDA when nvcc is found; env OCTAVO_CUDA sets it too (default: as it was
                       built here before, else auto)
  -j, --jobs N         compilers at once (default: the number of processors)
  --debug              no optimisation, with symbols
  --verbose            print everything that the tools print
  -h, --help

${exitCodesHelp}
`

const flags: Flags = {
  cuda: { type: 'string' },
  jobs: { type: 'string', short: 'j' },
  debug: { type: 'boolean' },
  verbose: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

const refuse = (sentence: string): UsageError => new UsageError(sentence)

interface BuildSettings {
  cuda: CudaChoice | null
  jobs: number
  debug: boolean
  verbose: boolean
  help: boolean
}

/** Runs the command; the exit status, 128 + n where signal n stopped it. Throws OCTAVO_BUILD_FAILED, naming what is missing. */
export async function run(argv: readonly string[]): Promise<number> {
  const args = parse(argv)
  if (args.help) {
    await output.write(help)
    return exitCodes.done
  }
  const started = performance.now()
  const folder = join(__dirname, '..', '..')
  requireCompiler()
  const progress = new BuildOutput(args.verbose)
  try {
    await compile({ folder, ...args, onLine: progress.take }, progress)
  } catch (error) {
    if (!(error instanceof StoppedBySignal)) throw error
    progress.say(error.message)
    return 128 + constants.signals[error.signal]
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  progress.say(`${describe(join(folder, 'build', 'Release', 'octavo.node'))}, ${seconds} s`)
  return exitCodes.done
}

function parse(argv: readonly string[]): BuildSettings {
  const args = new Arguments(argv, flags)
  const [extra] = args.positionals
  if (extra !== undefined) throw refuse(`build takes no argument and got '${extra}'`)
  const cuda = (args.text('cuda') ?? process.env['OCTAVO_CUDA'])?.toLowerCase() ?? null
  if (cuda !== null && cuda !== 'auto' && cuda !== 'on' && cuda !== 'off') {
    throw refuse(`--cuda is '${cuda}'; it takes on, off or auto`)
  }
  const jobs = args.number('jobs') ?? availableParallelism()
  if (!Number.isSafeInteger(jobs) || jobs < 1) {
    throw refuse(`--jobs is '${args.text('jobs')}'; it takes a whole number of 1 or more`)
  }
  return {
    cuda,
    jobs,
    debug: args.has('debug'),
    verbose: args.has('verbose'),
    help: args.has('help'),
  }
}

const failed = (sentence: string): OctavoError => new OctavoError('OCTAVO_BUILD_FAILED', sentence)

function requireCompiler(): void {
  if (process.platform === 'win32') return
  const chosen = process.env['CXX']
  if (chosen && isProgram(chosen)) return
  if (chosen) throw failed(`CXX is '${chosen}', and there is no such program; mend or unset it`)
  if (['c++', 'g++', 'clang++'].some((name) => findOnPath(name) !== null)) return
  throw failed(
    'no C++ compiler on PATH (looked for $CXX, c++, g++, clang++); on Debian: apt-get install g++ cmake ninja-build',
  )
}

async function compile(options: BuildOptions, progress: BuildOutput): Promise<void> {
  const cmake = findCMake()
  if ('path' in cmake) return buildWithCMake(cmake.path, options)
  if (options.cuda === 'on') {
    throw failed(
      `--cuda on needs cmake, but ${cmake.missing}; on Debian: apt-get install cmake ninja-build`,
    )
  }
  const nodeGyp = findNodeGyp(options.folder)
  if (nodeGyp === null) {
    throw failed(
      `${cmake.missing}, and no node-gyp was found to build without it; on Debian: apt-get install cmake ninja-build`,
    )
  }
  progress.say(`${cmake.missing}: building with node-gyp, for the CPU only`)
  return buildWithNodeGyp(nodeGyp, options)
}

/** Loads the new binary in a process of its own, so that a broken one is found here. */
function describe(file: string): string {
  const script = `const { version, buildInfo } = require(process.argv[1]); console.log(version, buildInfo.cuda ? 'with CUDA for ' + buildInfo.architectures : 'for the CPU only')`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', script, file], {
    encoding: 'utf8',
  })
  if (status !== 0) throw failed(`${file} was built but node cannot load it: ${stderr.trim()}`)
  return `${file}: ${stdout.trim()}, ${statSync(file).size} bytes`
}
