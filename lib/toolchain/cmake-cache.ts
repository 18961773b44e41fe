/** What an earlier configure left in the build folder: read, kept where it still holds, dropped where it does not. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

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

/** Choices of who configured the folder: a fresh configure takes them over. */
const choices =
  /^(OCTAVO_(CUDA|SANITIZE|WARNINGS)|CMAKE_CUDA_ARCHITECTURES|CMAKE_(CXX|CUDA)_(FLAGS|COMPILER_LAUNCHER))$/

const dropCache = (buildFolder: string): void => {
  for (const name of cmakeFiles) rmSync(join(buildFolder, name), { recursive: true, force: true })
}

/**
 * Makes the folder ready for a configure with the compiler that `cxx` (the variable CXX) names, and returns the arguments
 * that keep what the folder was configured with. Where its cache cannot serve any more cmake starts afresh: the folder was
 * moved or copied, its compiler is gone or failed, or CXX names another one. The addon stays until the linker replaces it:
 * a build that fails must not take away one that works.
 */
export function prepareCache(
  folder: string,
  buildFolder: string,
  cxx: string | undefined,
): string[] {
  const file = join(buildFolder, 'CMakeCache.txt')
  if (!existsSync(file)) return []
  const entries = entriesOf(readFileSync(file, 'utf8'))
  const moved = entries.get('CMAKE_HOME_DIRECTORY') !== folder
  if (!moved && compilerHolds(entries, cxx)) return []
  dropCache(buildFolder)
  if (moved) return []
  const generator = entries.get('CMAKE_GENERATOR')
  const named = entries.get('OCTAVO_CUDA_NAMED') === 'ON' ? 'CMAKE_CUDA_COMPILER' : null
  const kept = [...entries].filter(
    ([name, value]) => (choices.test(name) || name === named) && value !== '',
  )
  return [
    ...(generator === undefined ? [] : ['-G', generator]),
    ...kept.map(([name, value]) => `-D${name}=${value}`),
  ]
}

/** Values by name. */
function entriesOf(cache: string): Map<string, string> {
  const lines = cache.matchAll(/^([^#/:\n][^:\n]*):[A-Z]+=(.*)$/gm)
  return new Map([...lines].map(([, name, value]) => [name!, value!]))
}

/** CMakeLists.txt writes OCTAVO_CXX, what CXX was, when the compiler has compiled for the first time. */
function compilerHolds(entries: Map<string, string>, cxx: string | undefined): boolean {
  const [compiler, before] = [entries.get('CMAKE_CXX_COMPILER'), entries.get('OCTAVO_CXX')]
  if (compiler === undefined || before === undefined || !existsSync(compiler)) return false
  return !cxx || cxx === before || cxx === compiler
}
