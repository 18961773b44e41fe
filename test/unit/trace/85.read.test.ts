import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OutputFile, snapshotJson } from '../../../lib/trace/file.js'
import { readSnapshot } from '../../../lib/trace/read.js'
import { refusal } from '../../refusal.js'
import { SeededRandom } from '../../helpers/seeded-random.js'
import { randomSnapshot } from '../../helpers/snapshots.js'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-snapshot-'))
  file = join(folder, 'snapshot.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

it('reads what was written, in pieces or by JSON.stringify', async () => {
  const snapshot = randomSnapshot(12_000)
  const bytes = await (await OutputFile.make(file)).write(snapshotJson(snapshot))
  expect(bytes).toBe(Buffer.byteLength(JSON.stringify(snapshot)) + 1)
  expect(await readSnapshot(file)).toEqual(snapshot)
  writeFileSync(file, JSON.stringify(snapshot))
  expect(await readSnapshot(file)).toEqual(snapshot)
  const empty = { ...snapshot, events: [] }
  await (await OutputFile.make(file)).write(snapshotJson(empty))
  expect(await readSnapshot(file)).toEqual(empty)
})

const valid = randomSnapshot(30)
const without = (name: string): object => ({ ...valid, [name]: undefined })
const withFirst = (name: 'events' | 'segments' | 'frames' | 'owners', change: object): object => ({
  ...valid,
  [name]: [{ ...valid[name][0], ...change }],
})

it.each([
  ['', 'is no JSON'],
  ['{"format":', 'is no JSON'],
  ['null', 'is no memory snapshot'],
  ['[]', 'is no memory snapshot'],
  [JSON.stringify({ ...valid, format: 'other' }), 'is no memory snapshot'],
  [
    JSON.stringify({ ...valid, version: 2 }),
    'is a snapshot of version 2; this octavo reads version 1',
  ],
  [JSON.stringify(without('events')), 'has no list events'],
  [JSON.stringify(without('statistics')), 'trace or statistics is missing'],
  [JSON.stringify(without('timeNs')), 'timeNs, device or takenAt is missing'],
  [JSON.stringify({ ...valid, stacks: [[99]] }), 'stacks do not index frames'],
  [JSON.stringify(withFirst('events', { bytes: -1 })), 'events[0].bytes is not what it must be'],
  [JSON.stringify(withFirst('events', { owner: 3 })), 'events[0].owner'],
  [JSON.stringify(withFirst('segments', { blocks: {} })), 'segments[0].blocks'],
  [JSON.stringify(withFirst('segments', { blocks: [{}] })), 'blocks[0].address'],
  [JSON.stringify(withFirst('frames', { function: 3 })), 'frames[0].function'],
])('refuses %.60j', async (text, sentence) => {
  writeFileSync(file, text)
  await expect(readSnapshot(file)).rejects.toEqual(refusal('OCTAVO_IO_FAILED', sentence))
})

it('names a file that is not there, or cannot be made', async () => {
  await expect(readSnapshot(file)).rejects.toEqual(
    refusal('OCTAVO_IO_FAILED', 'snapshot.json cannot be read'),
  )
  const missing = join(folder, 'missing', 'a.json')
  await expect(OutputFile.make(missing)).rejects.toEqual(
    refusal('OCTAVO_IO_FAILED', 'cannot be written'),
  )
})

it('reads or refuses a snapshot with any byte changed, and never ends otherwise', async () => {
  const text = JSON.stringify(valid)
  const random = new SeededRandom(11)
  for (let round = 0; round < 300; round++) {
    const at = random.between(0, text.length - 1)
    const byte = String.fromCharCode(random.between(32, 126))
    writeFileSync(file, text.slice(0, at) + byte + text.slice(at + 1))
    const outcome = await readSnapshot(file).then(
      () => 'read',
      (error: { code?: string }) => error.code,
    )
    expect(['read', 'OCTAVO_IO_FAILED']).toContain(outcome)
  }
})

describe('a spill file', () => {
  const header = '{"format":"octavo-memory-events","version":1}'
  const stack = '{"stack":1,"frames":["octavo.node+0x10","+0x7f"]}'
  const event =
    '{"sequence":1,"timeNs":5,"operation":"allocated","region":"kv","address":0,"bytes":8,' +
    '"owner":{"kind":"engine","id":0},"thread":1,"stack":1,"tag":null}'

  it('that was cut in mid-line is read to there', async () => {
    writeFileSync(file, [header, stack, event, event.slice(0, 50)].join('\n'))
    const { events, stacks, frames } = await readSnapshot(file)
    expect(events).toMatchObject([{ sequence: 1, address: null, tag: null }])
    expect(stacks).toEqual([[], [0, 1]])
    expect(frames).toEqual([
      { function: null, module: 'octavo.node', offset: 16 },
      { function: null, module: '', offset: 127 },
    ])
  })

  it('that is damaged is refused by its line', async () => {
    writeFileSync(file, [header, 'x', event].join('\n'))
    await expect(readSnapshot(file)).rejects.toEqual(
      refusal('OCTAVO_IO_FAILED', 'json:2 is no JSON'),
    )
    writeFileSync(file, [header, event.replace('"bytes":8', '"bytes":"8"')].join('\n'))
    await expect(readSnapshot(file)).rejects.toEqual(refusal('OCTAVO_IO_FAILED', 'events[0].bytes'))
  })
})
