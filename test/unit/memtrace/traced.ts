/** Programs built for these tests, and `octavo memtrace` around them. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '..', '..', '..')
const sources = join(__dirname, 'programs')
const command = join(root, 'dist', 'cli', 'index.js')

/** Programs and reports of this test file. */
export const folder = join(root, '.cache', `memtrace-${process.pid}`)

export interface Frame {
  address: string
  file: string
  fileOffset: string
  function: string | null
  line?: number
}

export interface Group {
  kind: string
  count: number
  bytes: number
  oldestSeconds: number
  callsFromStack: number
  stack: Frame[]
}

export interface Report {
  process: number
  reason: string
  complete: boolean
  driver: string | null
  driverFunctions: number
  allocations: number
  frees: number
  unmatchedAllocations: number
  unmatchedBytes: number
  unmatchedShare: number
  deviceBytes: number
  deviceBytesPeak: number
  poolTrims: number
  unknownFrees: number
  refusedFrees: number
  replaced: number
  lost: number
  eventsWritten: number
  eventsDropped: number
  kinds: {
    kind: string
    allocations: number
    frees: number
    endedWithContext: number
    live: number
    liveBytes: number
    peakBytes: number
  }[]
  unmatched: Group[]
  endedWithContextGroups: Group[]
  unknownFreeGroups: Group[]
  refusedFreeGroups: Group[]
}

export interface Run {
  status: number | null
  stdout: string
  stderr: string
  /** What --json wrote. */
  report: Report
}

/** Compiles a source of programs/; extra arguments go to the compiler. */
export function compile(source: string, name: string, ...args: string[]): string {
  const file = join(folder, name)
  const compiler = source.endsWith('.cc') ? 'c++' : 'cc'
  const all = ['-Wall', '-Wextra', '-Werror', '-O1', '-o', file, join(sources, source), ...args]
  execFileSync(compiler, all, { stdio: ['ignore', 'pipe', 'pipe'] })
  return file
}

/** The driver of programs/, and the scenarios linked against it. */
export function compileAll(): void {
  mkdirSync(folder, { recursive: true })
  const library = ['-shared', '-fPIC', '-Wl,-Bsymbolic', '-Wl,-soname,libcuda.so.1']
  compile('libcuda.c', 'libcuda.so.1', ...library)
  compile('scenarios.c', 'scenarios', join(folder, 'libcuda.so.1'), '-lpthread')
  compile('lookup.c', 'lookup', '-ldl')
}

export const removeAll = (): void => rmSync(folder, { recursive: true, force: true })

/** What a user's shell has: nothing preloaded, the driver on the library path. */
export function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => name !== 'LD_PRELOAD')
  return { ...Object.fromEntries(own), LD_LIBRARY_PATH: folder }
}

let runs = 0

/** `octavo memtrace --json FILE options -- program arguments`, to its end. */
export function trace(
  program: string[],
  options: string[] = [],
  extra: NodeJS.ProcessEnv = {},
): Run {
  const json = join(folder, `report-${runs++}.json`)
  const args = [command, 'memtrace', '--json', json, ...options, '--', ...program]
  const env = { ...environment(), ...extra }
  const result = spawnSync(process.execPath, args, { env, encoding: 'utf8', timeout: 100_000 })
  const { status, stdout, stderr } = result
  const report = existsSync(json) ? readReport(json) : (undefined as never)
  return { status, stdout, stderr, report }
}

export function readReport(file: string): Report {
  return JSON.parse(readFileSync(file, 'utf8')) as Report
}

/** A scenario of programs/scenarios.c. */
export function scenario(name: string, ...options: string[]): Run {
  return trace([join(folder, 'scenarios'), name], options)
}

/** Runs without waiting for the end. */
export function start(program: string[], options: string[]): ChildProcess {
  const args = [command, 'memtrace', ...options, '--', ...program]
  return spawn(process.execPath, args, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] })
}

/** `octavo memtrace` with these arguments and nothing else. */
export function memtrace(...args: string[]): {
  status: number | null
  stdout: string
  stderr: string
} {
  const env = environment()
  return spawnSync(process.execPath, [command, 'memtrace', ...args], { env, encoding: 'utf8' })
}

/** Names of the functions of a stack, null for those that have none. */
export const functionsOf = (group: Group | undefined): (string | null)[] =>
  group?.stack.map((frame) => frame.function) ?? []

/** Kind, count and bytes of each group. */
export const summary = (groups: readonly Group[]): [string, number, number][] =>
  groups.map(({ kind, count, bytes }) => [kind, count, bytes])
