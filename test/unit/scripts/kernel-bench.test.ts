/** bench:attention and bench:gemm with programs and a python that only say what is written here. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const bench = join(__dirname, '..', '..', '..', 'scripts', 'bench')

interface Bar {
  case: string
  unit: string
  better: string
}
interface Row {
  case: string
  [field: string]: unknown
}

const { checkRow } = require('../../../scripts/performance-rows.cjs') as {
  checkRow(row: Row): void
}
const bars = (area: string): Bar[] =>
  JSON.parse(readFileSync(join(bench, `${area}-bars.json`), 'utf8')) as Bar[]

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-kernel-bench-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

function script(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
  return path
}

const lines = (objects: object[]): string =>
  ["cat <<'END'", ...objects.map((object) => JSON.stringify(object)), 'END'].join('\n')

/** A program that lists `cases`, notes its arguments, prints `printed` and ends with `status`. */
function program(cases: string[], printed: object[], status = 0): string {
  const list = ["cat <<'END'", ...cases, 'END'].join('\n')
  const listing = `if [ "$1" = --list ]; then\n${list}\nexit 0\nfi`
  const note = `echo "$@" > '${join(folder, 'arguments')}'`
  return script('program', [listing, note, lines(printed), `exit ${status}`].join('\n'))
}

/** A python whose torch has a card, or none. */
const python = (printed: object[], hasCard = true): string =>
  script('python', `if [ "$1" = -c ]; then exit ${hasCard ? 0 : 1}; fi\n${lines(printed)}`)

interface Run {
  status: number | null
  stdout: string
  stderr: string
  rows: Row[]
}

function run(area: string, paths: { program: string; python: string }, args: string[] = []): Run {
  const json = join(folder, 'rows.json')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(bench, `${area}.cjs`), '--json', json, '--commit', 'abcdef0', ...args],
    {
      encoding: 'utf8',
      env: { ...process.env, OCTAVO_BENCH: paths.program, PYTHON: paths.python },
    },
  )
  const rows = existsSync(json) ? (JSON.parse(readFileSync(json, 'utf8')) as Row[]) : []
  return { status, stdout, stderr, rows }
}

const card = { card: 'NVIDIA Test' }
const square = 'bf16 4096x4096x4096'
const skinny = 'bf16 8192x8192, M=1'
const measuredSquare = {
  case: square,
  error: 1e-5,
  tolerance: 5e-4,
  value: 700,
  unit: 'TFLOP/s',
  limit: { name: 'tensor cores at 1980 MHz', value: 1070 },
}
const measuredSkinny = {
  case: skinny,
  error: 1e-5,
  value: 36,
  unit: 'µs',
  limit: { name: 'plain read', value: 32.5 },
}

const lineOf = (stdout: string, name: string): string =>
  stdout.split('\n').find((line) => line.startsWith(`${name}  `)) ?? ''

describe.each(['attention', 'gemm'])('the bars of %s', (area) => {
  it('name each case once, and which way is better', () => {
    const names = bars(area).map((bar) => bar.case)
    expect(new Set(names).size).toBe(names.length)
    for (const { better } of bars(area)) expect(['higher', 'lower']).toContain(better)
  })

  it('hold every case of the native program', () => {
    // The names as the C++ sources build them: whole, or the beginning of one.
    const file = { attention: 'attention_case.cc', gemm: 'gemm_case.cc' }[area] as string
    const source = readFileSync(join(bench, 'native', file), 'utf8')
    const literal = [...source.matchAll(/"((?:decode|prefill|bf16|W4A16|A100 path:) [^"]*)"/g)].map(
      ([, name]) => name!,
    )
    expect(literal.length).toBeGreaterThan(5)
    const names = bars(area).map((bar) => bar.case)
    const known = (begin: string): boolean => names.some((name) => name.startsWith(begin))
    expect(literal.filter((name) => !known(name))).toEqual([])
  })

  it('hold every case of the PyTorch peers', () => {
    const source = readFileSync(join(bench, `${area}-torch.py`), 'utf8')
    const named = [...source.matchAll(/\("((?:prefill|bf16|W3A16|A100 path:) [^"]*)",/g)].map(
      (m) => m[1],
    )
    expect(named.length).toBeGreaterThan(5)
    const names = bars(area).map((bar) => bar.case)
    for (const name of named) expect(names).toContain(name)
  })
})

it('prints ours beside a peer that ran and takes its share as the bar', () => {
  const paths = {
    program: program([square, skinny], [card, measuredSquare, measuredSkinny]),
    python: python([
      { case: square, name: 'cuBLAS', value: 750, unit: 'TFLOP/s' },
      { case: square, name: 'a slower one', value: 600, unit: 'TFLOP/s' },
    ]),
  }
  const { status, stdout, rows } = run('gemm', paths)
  expect(status).toBe(0)
  expect(stdout).toContain('gemm on NVIDIA Test\n')
  expect(lineOf(stdout, square)).toMatch(/700 +750 \(cuBLAS\) +690 +765 +1070 .*floor met$/)
  expect(lineOf(stdout, skinny)).toMatch(/36 +43\.5 \(cuBLAS bf16, quoted\) +38 +34 .*floor met$/)
  expect(lineOf(stdout, 'W4A16 8192x8192, M=1')).toMatch(/not yet$/)
  rows.forEach(checkRow)
  expect(rows).toMatchObject([
    { case: square, area: 'gemm', value: 700, floor: 690, goal: 765, peer: { value: 750 } },
    { case: skinny, value: 36, limit: { name: 'plain read', value: 32.5 }, commit: 'abcdef0' },
  ])
  expect(rows).toHaveLength(2)
})

it('has no bar of a share of the peer where only a quoted figure is at hand', () => {
  const paths = { program: program([square], [card, measuredSquare]), python: python([], false) }
  const { status, stdout, rows } = run('gemm', paths)
  expect(status).toBe(0)
  expect(stdout).toContain('no peer ran')
  expect(rows).toMatchObject([{ floor: null, goal: null, peer: { name: 'cuBLAS bf16, quoted' } }])
})

it.each([
  ['higher', 'decode 16x4096', 'TB/s', 3.59, 'below the floor'],
  ['higher', 'decode 16x4096', 'TB/s', 4.1, 'goal met'],
  ['lower', 'decode 1x1k', 'µs', 11.1, 'below the floor'],
  ['lower', 'decode 1x1k', 'µs', 7.6, 'goal met'],
])('says where %s is better what was met: %s, %s, %d: %s', (_, name, unit, value, verdict) => {
  const measured = { case: name, error: 1e-3, value, unit, limit: { name: 'plain read', value: 5 } }
  const paths = { program: program([name], [card, measured]), python: python([], false) }
  expect(lineOf(run('attention', paths).stdout, name).endsWith(verdict)).toBe(true)
})

it('runs only what is asked for', () => {
  const paths = { program: program([square, skinny], [card, measuredSkinny]), python: python([]) }
  const { stdout } = run('gemm', paths, ['--only', '8192, M=1', '--no-peers'])
  expect(readFileSync(join(folder, 'arguments'), 'utf8')).toBe('--only 8192, M=1\n')
  expect(lineOf(stdout, skinny)).toMatch(/floor met$/)
  expect(lineOf(stdout, square)).toBe('')
  const nothing = run('gemm', paths, ['--only', 'no such case'])
  expect(nothing).toMatchObject({ status: 1, stderr: expect.stringContaining('no such case') })
})

it('takes a program by a relative path', () => {
  const paths = { program: program([square], [card, measuredSquare]), python: python([], false) }
  const { status } = run('gemm', { ...paths, program: relative(process.cwd(), paths.program) })
  expect(status).toBe(0)
})

it('lists the cases and which no kernel covers yet, without running any', () => {
  const paths = { program: program([square], []), python: python([]) }
  const { status, stdout } = run('gemm', paths, ['--list'])
  expect(status).toBe(0)
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([square, `${skinny} (not yet)`, 'W4A16 8192x8192, M=1 (not yet)']),
  )
})

it('keeps no row of a wrong result and fails', () => {
  const wrong = { case: square, error: 0.2, tolerance: 5e-4 }
  const paths = {
    program: program([square, skinny], [card, wrong, measuredSkinny], 1),
    python: python([], false),
  }
  const { status, stdout, rows } = run('gemm', paths)
  expect(status).toBe(1)
  expect(lineOf(stdout, square)).toMatch(/2\.0e-1 +wrong$/)
  expect(rows.map((row) => row.case)).toEqual([skinny])
})

it('keeps ours where the peers fail', () => {
  const python = script('python', 'if [ "$1" = -c ]; then exit 0; fi; echo no JSON; exit 1')
  const { status, stderr, rows } = run('gemm', {
    program: program([square], [card, measuredSquare]),
    python,
  })
  expect(status).toBe(0)
  expect(stderr).toMatch(/gemm-torch\.py ended with 1.*\n.*not a line of a benchmark: no JSON/)
  expect(rows).toMatchObject([{ value: 700, peer: { name: 'cuBLAS bf16, quoted' } }])
})

it('keeps what a program had measured before it died, and fails', () => {
  const paths = {
    program: program([square, skinny], [card, measuredSquare], 139),
    python: python([], false),
  }
  const { status, stdout, stderr, rows } = run('gemm', paths)
  expect(status).toBe(1)
  expect(stderr).toMatch(/ended with 139/)
  expect(lineOf(stdout, skinny)).toMatch(/not measured$/)
  expect(rows.map((row) => row.case)).toEqual([square])
})

it.each<[string, string[], object[], number, RegExp]>([
  ['a case without a bar', ['bf16 1x1x1'], [], 0, /no bar is written down for: bf16 1x1x1/],
  ['another unit', [square], [card, { ...measuredSquare, unit: 'µs' }], 0, /measured in µs/],
  ['a program without a card', [square], [], 1, /ended with 1 and named no card/],
])('refuses %s', (_, cases, printed, status, complaint) => {
  const paths = { program: program(cases, printed, status), python: python([], false) }
  const { status: ended, stderr, rows } = run('gemm', paths)
  expect(ended).toBe(1)
  expect(stderr).toMatch(complaint)
  expect(rows).toEqual([])
})

it('says what to do where the program is not there', () => {
  const paths = { program: join(folder, 'absent'), python: python([], false) }
  const { status, stderr } = run('gemm', paths)
  expect(status).toBe(1)
  expect(stderr).toMatch(/OCTAVO_BENCH names .*absent, which does not exist/)
})

describe('a program that is not named', () => {
  const { findProgram } = require('../../../scripts/bench/kernels/program.cjs') as {
    findProgram(target: string, environment: object, build: string): string
  }
  /** A cmake that notes its arguments. */
  const cmake = (status: number): object => {
    script('cmake', `echo "$@" > '${join(folder, 'arguments')}'\nexit ${status}`)
    return { PATH: `${folder}:${process.env.PATH}` }
  }

  it('is brought up to date in the build folder', () => {
    writeFileSync(join(folder, 'CMakeCache.txt'), '')
    expect(findProgram('octavo-bench-gemm', cmake(0), folder)).toBe(
      join(folder, 'scripts/bench/native/octavo-bench-gemm'),
    )
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).toBe(
      `--build ${folder} --target octavo-bench-gemm\n`,
    )
  })

  it('is refused with what to do where it cannot be built', () => {
    const find = (environment: object) => () =>
      findProgram('octavo-bench-gemm', environment, folder)
    expect(find(cmake(0))).toThrow(/nothing configured in .*OCTAVO_CUDA=ON/)
    writeFileSync(join(folder, 'CMakeCache.txt'), '')
    expect(find(cmake(1))).toThrow(/could not build octavo-bench-gemm in .*needs nvcc/)
    expect(find({ PATH: join(folder, 'empty') })).toThrow(/cmake cannot be run \(ENOENT\)/)
  })
})
