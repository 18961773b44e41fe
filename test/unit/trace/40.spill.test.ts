import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildEvents } from '../../../lib/trace/build.js'
import { readSnapshot } from '../../../lib/trace/read.js'
import { openTrace, type Place, type Trace } from '../../helpers/native-testing.js'
import { addonPath } from '../../helpers/raw-load.js'
import { refusal } from '../../helpers/refusal.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-spill-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const place = (address: number, tag = 'scratch'): Place => ['kv', address, 512, 'session', 1, tag]

function record(trace: Trace, count: number): void {
  for (let i = 1; i <= count; i++) trace.allocated(...place(i * 512))
}

test('has every event that the ring has lost, and their stacks', async () => {
  const spillPath = join(folder, 'events.jsonl')
  const trace = openTrace({ level: 3, ringEvents: 10, spillPath })
  record(trace, 500)
  trace.transferred('kv', 'session', 1, 'scratch', 'engine', 0, 'quo"ted\n\\', 5)
  const { spill, ...snapshot } = trace.snapshot()
  expect(snapshot).toMatchObject({ recorded: 503, overwritten: 493 })
  expect(spill).toMatchObject({ path: spillPath, dropped: 0, problem: '' })
  expect(readFileSync(spillPath).length).toBe(spill.bytes)
  const read = await readSnapshot(spillPath)
  expect(read.events.map(({ sequence }) => sequence)).toEqual(
    [...Array(503).keys()].map((i) => i + 1),
  )
  // What both have is the same.
  expect(read.events.slice(-10)).toEqual(buildEvents(snapshot as never))
  expect(read.events.at(-2)).toMatchObject({ tag: 'quo"ted\n\\', from: { kind: 'session', id: 1 } })
  const stack = read.stacks[read.events[1]!.stack]!
  expect(read.frames[stack[0]!]!.module).toBe('octavo.node')
})

test('begins with level 3, is flushed on leaving it, and goes on when it returns', () => {
  const spillPath = join(folder, 'events.jsonl')
  const trace = openTrace({ level: 2, spillPath })
  record(trace, 3)
  expect(existsSync(spillPath)).toBe(false)
  const lines = (): number => readFileSync(spillPath, 'utf8').trimEnd().split('\n').length
  trace.setLevel(3)
  record(trace, 3)
  trace.setLevel(2)
  const before = lines()
  record(trace, 3)
  expect(lines()).toBe(before)
  trace.setLevel(3)
  record(trace, 2)
  trace.setLevel(0)
  // three events of levels, five of allocations
  const text = readFileSync(spillPath, 'utf8')
  expect(text.match(/"operation":"allocated"/g)).toHaveLength(5)
  expect(text.match(/"format":/g)).toHaveLength(1)
})

test('stops at its bound, and says so', () => {
  const spillPath = join(folder, 'events.jsonl')
  const trace = openTrace({ level: 3, spillPath, spillBytes: 5000 })
  record(trace, 100)
  const { spill, recorded } = trace.snapshot()
  expect(spill.bytes).toBeLessThanOrEqual(5000)
  expect(spill.bytes).toBeGreaterThan(4000)
  expect(readFileSync(spillPath).length).toBe(spill.bytes)
  expect(spill.problem).toMatch(/has reached its bound of 5000 bytes.*maxBytes/)
  expect(spill.dropped).toBeGreaterThan(70)
  expect(recorded).toBe(102)
  expect(readFileSync(spillPath, 'utf8')).toMatch(/\}\n$/)
})

/** The system refuses what goes past a size, as it does past the end of a disk. */
const fullDisk = `
const [addon, spillPath] = process.argv.slice(1)
process.on('SIGXFSZ', () => {})
require('node:child_process').execFileSync('prlimit', ['--fsize=20000', '--pid', String(process.pid)])
const { Trace } = require(addon).testing
const trace = new Trace({ level: 3, ringEvents: 64, sampleBytes: 2 ** 20, spillBytes: 2 ** 20, spillPath })
const record = (count) => {
  for (let i = 1; i <= count; i++) trace.allocated('kv', i * 512, 512, 'session', 1, 'scratch')
}
record(2000)
const { spill, recorded, dropped } = trace.snapshot()
record(10)
trace.check()
console.log(JSON.stringify({ spill, recorded, dropped }))
`

const linux = process.platform === 'linux' ? test : test.skip

linux('a full disk stops the file, not the process', () => {
  const spillPath = join(folder, 'events.jsonl')
  const output = execFileSync(process.execPath, ['-e', fullDisk, addonPath, spillPath])
  const { spill, recorded, dropped } = JSON.parse(String(output)) as ReturnType<Trace['snapshot']>
  expect(spill.problem).toMatch(
    /events\.jsonl could not be written after \d+ bytes: File too large/,
  )
  expect(spill.dropped).toBeGreaterThan(0)
  expect({ recorded, dropped }).toEqual({ recorded: 2002, dropped: 0 })
})

test('what is no regular file is refused at once, and left as it is', () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  // With a reader the system would open it, without one wait for ever.
  for (const reader of [null, openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)]) {
    const { code, message } = refusal(() => openTrace({ level: 3, spillPath: pipe }))
    expect(code).toBe('OCTAVO_IO_FAILED')
    expect(message).toMatch(/pipe: it is not a regular file; .*memory\.trace\.spill/)
    if (reader !== null) closeSync(reader)
  }
  const device = refusal(() => openTrace({ level: 3, spillPath: '/dev/null' }))
  expect(device.message).toMatch(/it is not a regular file/)
  expect(refusal(() => openTrace({ level: 3, spillPath: folder })).message).toMatch(
    /Is a directory/,
  )
})

test('a file that is there is made anew', () => {
  const spillPath = join(folder, 'events.jsonl')
  writeFileSync(spillPath, 'old '.repeat(10_000))
  const trace = openTrace({ level: 3, spillPath })
  record(trace, 3)
  trace.setLevel(0)
  expect(readFileSync(spillPath, 'utf8')).not.toContain('old')
  expect(readFileSync(spillPath).length).toBe(trace.snapshot().spill.bytes)
})

test('a NUL in a path is refused: the system would write another file', () => {
  const spillPath = join(folder, 'events\0.jsonl')
  const { code, message } = refusal(() => openTrace({ level: 3, spillPath }))
  expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(message).toMatch(/spillPath has a NUL at byte \d+ of \d+/)
  expect(readdirSync(folder)).toEqual([])
})

test('a file that cannot be made is refused, and the level stays', () => {
  const spillPath = join(folder, 'missing', 'events.jsonl')
  const { code, message } = refusal(() => openTrace({ level: 3, spillPath }))
  expect(code).toBe('OCTAVO_IO_FAILED')
  expect(message).toMatch(/missing.events\.jsonl: No such file.*memory\.trace\.spill/)
  const trace = openTrace({ level: 2, spillPath })
  expect(refusal(() => trace.setLevel(3)).code).toBe('OCTAVO_IO_FAILED')
  expect(trace.snapshot().level).toBe(2)
  record(trace, 3)
  trace.check()
})
