/*
What octavo-memtrace.so adds to a call of the driver: the median of many pairs of cuMemAlloc and cuMemFree, 14 frames
deep, against a driver that does nothing, with and without the tracer.

  node scripts/bench/memtrace.cjs [--pairs 200000] [--library build/Release/octavo-memtrace.so]
*/
'use strict'
const { execFileSync } = require('node:child_process')
const { existsSync, mkdtempSync, rmSync } = require('node:fs')
const { cpus, tmpdir } = require('node:os')
const { join, resolve } = require('node:path')
const { parseArgs } = require('node:util')

const root = join(__dirname, '..', '..')
const sources = join(root, 'test', 'unit', 'memtrace', 'programs')
const folder = mkdtempSync(join(tmpdir(), 'octavo-memtrace-'))

const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '200000' },
    library: { type: 'string', default: join(root, 'build', 'Release', 'octavo-memtrace.so') },
  },
})

function compile(source, name, ...args) {
  const file = join(folder, name)
  execFileSync('cc', ['-O2', '-o', file, join(sources, source), ...args], { stdio: 'inherit' })
  return file
}

/** Nanoseconds a pair, the median of the threads' medians. */
function measure(program, threads, variables) {
  const env = { ...process.env, LD_LIBRARY_PATH: folder, ...variables }
  const output = execFileSync(program, [options.pairs, String(threads)], { env, encoding: 'utf8' })
  const medians = output.trim().split('\n').map(Number)
  return medians.sort((a, b) => a - b)[Math.floor(medians.length / 2)]
}

function main() {
  const library = resolve(options.library)
  if (!existsSync(library)) throw new Error(`no ${library}: build it first`)
  const driver = compile(
    'libcuda.c',
    'libcuda.so.1',
    '-shared',
    '-fPIC',
    '-Wl,-Bsymbolic',
    '-Wl,-soname,libcuda.so.1',
  )
  const program = compile('cost.c', 'cost', driver, '-lpthread')
  const traced = { LD_PRELOAD: library, OCTAVO_MEMTRACE_OUTPUT: join(folder, 'report.txt') }
  const ways = [
    ['8 frames', {}],
    ['1 frame', { OCTAVO_MEMTRACE_FRAMES: '1' }],
    ['32 frames', { OCTAVO_MEMTRACE_FRAMES: '32' }],
    ['8 frames and the event log', { OCTAVO_MEMTRACE_EVENTS: join(folder, 'events.jsonl') }],
  ]
  console.log(`${cpus()[0].model}, ${cpus().length} processors, ${options.pairs} pairs a thread`)
  console.log('| traced | threads | ns a pair, untraced | traced | added |')
  console.log('| --- | --- | --- | --- | --- |')
  for (const [name, variables] of ways) {
    for (const threads of [1, 2]) {
      const before = measure(program, threads, {})
      const after = measure(program, threads, { ...traced, ...variables })
      console.log(`| ${name} | ${threads} | ${before} | ${after} | ${after - before} |`)
    }
  }
}

try {
  main()
} finally {
  rmSync(folder, { recursive: true })
}
