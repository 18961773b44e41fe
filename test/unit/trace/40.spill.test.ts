import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildEvents } from '../../../lib/trace/build.js'
import { readSnapshot } from '../../../lib/trace/read.js'
import { openTrace, type Place, type Trace } from '../../helpers/native-testing.js'
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

test('a full disk stops the file, not the process', () => {
  if (!existsSync('/dev/full')) return expect(process.platform).not.toBe('linux')
  const trace = openTrace({ level: 3, spillPath: '/dev/full' })
  record(trace, 2000)
  const { spill, recorded, dropped } = trace.snapshot()
  expect(spill.problem).toMatch(/\/dev\/full could not be written after \d+ bytes: No space left/)
  expect(spill.dropped).toBeGreaterThan(0)
  expect({ recorded, dropped }).toEqual({ recorded: 2002, dropped: 0 })
  record(trace, 10)
  trace.check()
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
