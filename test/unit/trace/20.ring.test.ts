import { openTrace, type Place } from '../../helpers/native-testing.js'
import { buildEvents } from '../../../lib/trace/build.js'

const place = (address: number): Place => ['graph', address, 512, 'graph', 3, 'nodes']

test.each([1, 7, 64])('a ring of %i events keeps the newest, oldest first', (ringEvents) => {
  const trace = openTrace({ ringEvents })
  for (let i = 1; i <= 3 * ringEvents + 2; i++) {
    trace.allocated(...place(i * 512))
    const { recorded, overwritten, events } = trace.snapshot()
    expect(recorded).toBe(i + 1)
    expect(overwritten).toBe(Math.max(0, i + 1 - ringEvents))
    const expected = Array.from({ length: recorded - overwritten }, (_, at) => overwritten + at + 1)
    expect([...events.sequence]).toEqual(expected)
  }
  trace.check()
})

test('what is live survives the ring', () => {
  const trace = openTrace({ ringEvents: 4 })
  trace.allocated(...place(0x7000))
  for (let i = 1; i <= 1000; i++) {
    trace.allocated(...place(i * 0x10000))
    trace.freeCompleted(...place(i * 0x10000))
  }
  const { allocations, stacks, holdings } = trace.snapshot()
  expect(allocations).toMatchObject([{ address: 0x7000, bytes: 512, sequence: 2 }])
  expect(stacks[allocations[0]!.stack]!.length).toBeGreaterThan(0)
  expect(holdings).toMatchObject([{ bytes: 512, ownerKind: 'graph' }])
})

test('times never go back, and every event names its thread', () => {
  const trace = openTrace()
  for (let i = 1; i <= 40; i++) trace.allocated(...place(i * 512))
  const events = buildEvents(trace.snapshot())
  expect(events.every(({ timeNs }, i) => i === 0 || timeNs >= events[i - 1]!.timeNs)).toBe(true)
  expect(new Set(events.map(({ thread }) => thread)).size).toBe(1)
})

test('one stack is held once, however often it is met', () => {
  const trace = openTrace()
  for (let i = 1; i <= 50; i++) trace.allocated(...place(i * 512))
  const { stacks, allocations } = trace.snapshot()
  expect(new Set(allocations.map(({ stack }) => stack)).size).toBe(1)
  expect(stacks).toHaveLength(2)
})

test('segments are cut where a part is unmapped', () => {
  const trace = openTrace()
  const MiB = 2 ** 20
  const owner = ['engine', 0, 'pages'] as const
  trace.segmentMapped('kv', 10 * MiB, 8 * MiB, ...owner)
  trace.segmentUnmapped('kv', 12 * MiB, 2 * MiB, ...owner)
  const pieces = (): number[][] =>
    trace.snapshot().segments.map(({ address, bytes }) => [address / MiB, bytes / MiB])
  expect(pieces()).toEqual([
    [10, 2],
    [14, 4],
  ])
  trace.segmentMapped('kv', 12 * MiB, 2 * MiB, ...owner)
  trace.segmentUnmapped('kv', 11 * MiB, 4 * MiB, ...owner)
  expect(pieces()).toEqual([
    [10, 1],
    [15, 3],
  ])
  trace.segmentUnmapped('kv', 0, 100 * MiB, ...owner)
  expect(pieces()).toEqual([])
  trace.check()
})

test('an allocation in a mapped segment takes its bytes from the line of the segment', () => {
  const trace = openTrace()
  const pool = ['workspace', 0x400000, 2 ** 21, 'engine', 0, 'cached'] as const
  const piece = ['workspace', 0x401000, 4096, 'session', 2, 'scratch'] as const
  const held = (): [string, number][] =>
    trace.snapshot().holdings.map(({ ownerKind, bytes }) => [ownerKind, bytes])
  trace.segmentMapped(...pool)
  expect(held()).toEqual([['engine', 2 ** 21]])
  trace.allocated(...piece)
  expect(held()).toEqual([
    ['engine', 2 ** 21 - 4096],
    ['session', 4096],
  ])
  trace.freeCompleted(...piece)
  expect(held()).toEqual([['engine', 2 ** 21]])
  const events = buildEvents(trace.snapshot())
  const [mapped, allocated, freed] = events.slice(1)
  expect(mapped!.from).toBeUndefined()
  for (const event of [allocated, freed]) {
    expect(event).toMatchObject({ from: { kind: 'engine', id: 0 }, fromTag: 'cached' })
  }
  trace.segmentUnmapped(...pool)
  expect(held()).toEqual([])
  trace.check()
})
