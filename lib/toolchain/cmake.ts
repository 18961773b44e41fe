/** Building the addon with cmake, CUDA included where nvcc is. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { OctavoError } from '../errors.js'
import { prepareCache } from './cmake-cache.js'
import { capture, findOnPath, runProcess } from './process.js'

/** `auto` takes CUDA when nvcc is found; an nvcc that is found and does not work is an error. */
export type CudaChoice = 'auto' | 'on' | 'off'

export interface BuildOptions {
  /** The package folder: sources below it, result in `build/Release/octavo.node`. */
  folder: string
  /** null: as the build folder was configured last, `auto` where it was not. */
  cuda: CudaChoice | null
  jobs: number
  /** No optimisation, with symbols. */
  debug: boolean
  onLine: (line: string) => void
}

const minimumVersion = [3, 24] as const

/** The cmake to build with, or the reason why there is none. */
export function findCMake(): { path: string } | { missing: string } {
  const path = findOnPath('cmake')
  if (path === null) return { missing: 'cmake is not on PATH' }
  const version = /version (\d+)\.(\d+)/.exec(capture(path, ['--version']) ?? '')
  if (version === null) return { missing: `${path} does not run` }
  const [major, minor] = [Number(version[1]), Number(version[2])]
  if (major > minimumVersion[0] || (major === minimumVersion[0] && minor >= minimumVersion[1])) {
    return { path }
  }
  return { missing: `cmake ${major}.${minor} is too old (${minimumVersion.join('.')} is needed)` }
}

/** Configures and builds. Throws OCTAVO_BUILD_FAILED with the tool's last words, and StoppedBySignal. */
export async function buildWithCMake(cmake: string, options: BuildOptions): Promise<void> {
  const buildFolder = join(options.folder, 'build')
  const kept = prepareCache(options.folder, buildFolder, process.env['CXX'])
  await step('configure', cmake, configureArguments(buildFolder, kept, options), options)
  const args = ['--build', buildFolder, '--config', 'Release', '--parallel', String(options.jobs)]
  await step('build', cmake, args, options)
}

/** `kept` comes first: of an entry that is given twice cmake takes the last. */
function configureArguments(
  buildFolder: string,
  kept: readonly string[],
  options: BuildOptions,
): string[] {
  const args = ['-S', options.folder, '-B', buildFolder, ...kept]
  const configured = kept.includes('-G') || existsSync(join(buildFolder, 'CMakeCache.txt'))
  if (!configured && findOnPath('ninja') !== null) args.push('-G', 'Ninja')
  if (options.cuda !== null) args.push(`-DOCTAVO_CUDA=${options.cuda.toUpperCase()}`)
  args.push(`-DCMAKE_BUILD_TYPE=${options.debug ? 'Debug' : 'Release'}`)
  args.push(`-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${join(buildFolder, 'Release')}`)
  return args
}

async function step(
  name: string,
  cmake: string,
  args: string[],
  options: BuildOptions,
): Promise<void> {
  const { status, tail } = await runProcess(cmake, args, options.folder, options.onLine)
  if (status === 0) return
  throw new OctavoError(
    'OCTAVO_BUILD_FAILED',
    `cmake's ${name} step ended with status ${status}. Its last lines:\n${tail.join('\n')}`,
  )
}
