/** `octavo trace`, and the flags that write snapshots. */
import { linkSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MemorySnapshot } from '../../../lib/index.js'
import { unpickle } from '../../helpers/unpickle.js'
import { dataOf, functionsOf } from '../../helpers/viewer-page.js'
import { octavo } from './command.js'

let folder: string
let file: string
const at = (name: string): string => join(folder, name)
const generate = (...argv: string[]) =>
  octavo('generate', '-d', 'cpu', '--threads', '2', '-n', '40', 'Once upon a time', ...argv)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-trace-'))
  file = at('memory.json')
  const { code, stderr } = await generate('--memory-snapshot', file, '--memory-trace', '3')
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`${file}, `) })
})
afterAll(() => rmSync(folder, { recursive: true }))

const snapshotOf = (path: string): MemorySnapshot =>
  JSON.parse(readFileSync(path, 'utf8')) as MemorySnapshot

it('--memory-snapshot writes one, traced at level 2 unless told otherwise', async () => {
  const snapshot = snapshotOf(file)
  expect(snapshot).toMatchObject({ format: 'octavo-memory-snapshot', trace: { level: 3 } })
  expect(snapshot.statistics.sessions).toHaveLength(1)
  const other = at('other.json')
  expect((await generate('--memory-snapshot', other)).code).toBe(0)
  expect(snapshotOf(other).trace.level).toBe(2)
})

it('is refused before the load where it cannot be written, or the level is none', async () => {
  const missing = await generate('--memory-snapshot', at('missing/memory.json'))
  expect(missing).toMatchObject({ code: 1, stdout: '' })
  expect(missing.stderr).toMatch(/cannot be written.*OCTAVO_IO_FAILED/)
  expect(missing.stderr).not.toMatch(/loaded in/)
  const level = await generate('--memory-trace', '4')
  expect(level).toMatchObject({ code: 2, stdout: '' })
  expect(level.stderr).toMatch(/--memory-trace is '4'/)
})

it('does not write over the snapshot', async () => {
  const before = readFileSync(file)
  const link = at('link.json')
  linkSync(file, link)
  for (const out of [file, link]) {
    const { code, stderr } = await octavo('trace', 'view', file, '--out', out)
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is SNAPSHOT itself'),
    })
  }
  expect(readFileSync(file)).toEqual(before)
})

it('view makes a page beside the snapshot, or where it is told', async () => {
  const { code, stdout, stderr } = await octavo('trace', 'view', file)
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toBe(
    `octavo: ${at('memory.html')}, ${(statSync(at('memory.html')).size / 1024).toFixed(1)} KiB\n`,
  )
  const page = readFileSync(at('memory.html'), 'utf8')
  const data = dataOf(page)
  const { events } = snapshotOf(file)
  expect(data.events.time).toHaveLength(events.length)
  expect(functionsOf(page).filterEvents(data, { text: 'KvCache' }).length).toBeGreaterThan(0)
  const out = at('elsewhere.html')
  expect((await octavo('trace', 'view', file, '--out', out, '--max-events', '5')).code).toBe(0)
  expect(dataOf(readFileSync(out, 'utf8')).events.time).toHaveLength(5)
})

it('export writes a pickle', async () => {
  expect((await octavo('trace', 'export', file, '--format', 'pytorch')).code).toBe(0)
  const exported = unpickle(readFileSync(at('memory.pickle'))) as Record<string, unknown[]>
  expect(exported['segments']).toHaveLength(snapshotOf(file).segments.length)
  expect(exported['device_traces']).toHaveLength(1)
})

it.each([
  [[], /trace takes view or export and got ''/],
  [['show'], /got 'show'/],
  [['view'], /trace view takes one SNAPSHOT and got 0/],
  [['view', 'a', 'b'], /got 2/],
  [['export', 'a'], /--format is missing; it takes pytorch/],
  [['export', 'a', '--format', 'png'], /--format is 'png'/],
  [['view', ''], /SNAPSHOT is ''; trace view takes the path of a file/],
  [['view', 'a', '--out', ''], /--out is ''; it takes the path of a file/],
  [['export', 'a', '--format', 'pytorch', '--out', ''], /--out is ''/],
  [['view', 'a', '--max-events', '0'], /--max-events is '0'/],
])('refuses %j', async (argv, sentence) => {
  const { code, stderr } = await octavo('trace', ...argv)
  expect(code).toBe(2)
  expect(stderr).toMatch(sentence)
})

it('refuses a file that is none', async () => {
  writeFileSync(at('text.json'), 'hello')
  const { code, stderr } = await octavo('trace', 'view', at('text.json'))
  expect(code).toBe(1)
  expect(stderr).toMatch(/text\.json is no JSON/)
  expect((await octavo('trace', 'view', at('none.json'))).code).toBe(1)
})

it('has help', async () => {
  const { code, stdout } = await octavo('trace', '--help')
  expect(code).toBe(0)
  expect(stdout).toMatch(/trace view SNAPSHOT/)
})
