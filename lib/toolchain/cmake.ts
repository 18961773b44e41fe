/** Building the addon with cmake, CUDA included where nvcc is. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { OctavoError } from '../errors.js'
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

/** Configures and builds; throws OCTAVO_BUILD_FAILED with the tool's last words. */
export async function buildWithCMake(cmake: string, options: BuildOptions): Promise<void> {
  const buildFolder = join(options.folder, 'build')
  dropForeignCache(options.folder, buildFolder)
  await step('configure', cmake, configureArguments(buildFolder, options), options)
  const args = ['--build', buildFolder, '--config', 'Release', '--parallel', String(options.jobs)]
  await step('build', cmake, args, options)
}

function configureArguments(buildFolder: string, options: BuildOptions): string[] {
  const args = ['-S', options.folder, '-B', buildFolder]
  const configured = existsSync(join(buildFolder, 'CMakeCache.txt'))
  if (!configured && findOnPath('ninja') !== null) args.push('-G', 'Ninja')
  if (options.cuda !== null) args.push(`-DOCTAVO_CUDA=${options.cuda.toUpperCase()}`)
  args.push(`-DCMAKE_BUILD_TYPE=${options.debug ? 'Debug' : 'Release'}`)
  args.push(`-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${join(buildFolder, 'Release')}`)
  return args
}

/** What cmake writes for itself; the addon in Release/ is not among it. */
const cmakeFiles = [
  'CMakeCache.txt',
  'CMakeFiles',
  'cmake_install.cmake',
  'build.ninja',
  '.ninja_deps',
  '.ninja_log',
  'Makefile',
]

/**
 * A folder that was moved or copied carries a cache that cmake refuses: start afresh. The addon stays until
 * the linker replaces it: a build that fails must not take away one that works.
 */
function dropForeignCache(folder: string, buildFolder: string): void {
  const cache = join(buildFolder, 'CMakeCache.txt')
  if (!existsSync(cache)) return
  const home = /^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$/m.exec(readFileSync(cache, 'utf8'))?.[1]
  if (home === folder) return
  for (const name of cmakeFiles) rmSync(join(buildFolder, name), { recursive: true, force: true })
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
