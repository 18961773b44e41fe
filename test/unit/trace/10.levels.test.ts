import { refusal } from '../../helpers/refusal.js'
import { openMemory, openTrace, type Place } from '../../helpers/native-testing.js'
import { eventsOf, namesOf } from '../../helpers/trace-events.js'

const place = (address: number, bytes = 4096, session = 1): Place => [
  'workspace',
  address,
  bytes,
  'session',
  session,
  'scratch',
]

test('level 0 records nothing and takes no ring', () => {
  const trace = openTrace({ level: 0 })
  trace.allocated(...place(0x1000))
  trace.transferred('kv', 'engine', 0, 'a', 'session', 1, 'b', 5)
  trace.outOfMemory(...place(0))
  trace.ownerEnded('session', 1)
  const snapshot = trace.snapshot()
  expect(snapshot).toMatchObject({
    level: 0,
    recorded: 0,
    dropped: 0,
    allocations: [],
    holdings: [],
  })
  expect(snapshot.events.sequence).toHaveLength(0)
  trace.check()
})

test('level 1 takes one allocation in every so many bytes, and only its free', () => {
  const trace = openTrace({ level: 1, sampleBytes: 10_000 })
  for (let i = 1; i <= 9; i++) trace.allocated(...place(i * 4096))
  // 4096 × 3 pass 10,000: the 3rd, 6th and 9th.
  const { allocations } = trace.snapshot()
  expect(allocations.map(({ address }) => address / 4096)).toEqual([3, 6, 9])
  expect(allocations.every(({ sampledBytes }) => sampledBytes === 3 * 4096)).toBe(true)
  for (let i = 1; i <= 9; i++) trace.freeCompleted(...place(i * 4096))
  const after = trace.snapshot()
  expect(after.allocations).toEqual([])
  const freed = eventsOf(after).filter(({ operation }) => operation === 'freeCompleted')
  expect(freed.map(({ address }) => address! / 4096)).toEqual([3, 6, 9])
  trace.check()
})

test('level 2 records what happens, in order, without gaps', () => {
  const trace = openTrace()
  trace.segmentMapped('workspace', 0x200000, 2 ** 21, 'engine', 0, 'pool')
  trace.allocated(...place(0x200000))
  trace.transferred('workspace', 'session', 1, 'scratch', 'session', 2, 'given', 4096)
  trace.outOfMemory('kv', 0, 77, 'session', 2, 'kv')
  trace.freeRequested(...place(0x200000))
  expect(trace.snapshot().allocations).toMatchObject([{ address: 0x200000, freeRequested: true }])
  trace.freeCompleted(...place(0x200000))
  trace.ownerEnded('session', 1)
  trace.segmentUnmapped('workspace', 0x200000, 2 ** 21, 'engine', 0, 'pool')
  const one = { kind: 'session', id: 1 }
  const [two, engine] = [
    { kind: 'session', id: 2 },
    { kind: 'engine', id: 0 },
  ]
  const scratch = {
    region: 'workspace',
    address: 0x200000,
    bytes: 4096,
    owner: one,
    tag: 'scratch',
  }
  const pool = {
    region: 'workspace',
    address: 0x200000,
    bytes: 2 ** 21,
    owner: engine,
    tag: 'pool',
  }
  expect(eventsOf(trace.snapshot())).toMatchObject([
    { sequence: 2, operation: 'segmentMapped', ...pool },
    { sequence: 3, operation: 'allocated', ...scratch },
    {
      sequence: 4,
      operation: 'transferred',
      address: null,
      bytes: 4096,
      owner: two,
      tag: 'given',
      from: one,
      fromTag: 'scratch',
    },
    { sequence: 5, operation: 'outOfMemory', region: 'kv', address: null, bytes: 77, owner: two },
    { sequence: 6, operation: 'freeRequested', ...scratch },
    { sequence: 7, operation: 'freeCompleted', ...scratch },
    { sequence: 8, operation: 'ownerEnded', owner: one, tag: null },
    { sequence: 9, operation: 'segmentUnmapped', ...pool },
  ])
  trace.check()
})

test('level 3 adds snapshots and the stacks of frees', () => {
  for (const level of [2, 3]) {
    const trace = openTrace({ level })
    trace.allocated(...place(0x1000))
    trace.freeCompleted(...place(0x1000))
    trace.snapshot()
    const { events, operations } = trace.snapshot()
    const names = [...events.operation].map((operation) => operations[operation])
    const taken = level === 3 ? ['snapshot', 'snapshot'] : []
    expect(names).toEqual(['levelChanged', 'allocated', 'freeCompleted', ...taken])
    expect(events.stack[2]! > 0).toBe(level === 3)
    expect(events.stack[1]).toBeGreaterThan(0)
  }
})

test('levels change at run time; at level 0 the live table empties', () => {
  const trace = openTrace()
  trace.allocated(...place(0x1000))
  trace.setLevel(1)
  expect(trace.snapshot().allocations).toHaveLength(1)
  trace.freeCompleted(...place(0x1000))
  expect(trace.snapshot().allocations).toEqual([])
  trace.setLevel(3)
  trace.allocated(...place(0x2000))
  trace.setLevel(0)
  trace.freeCompleted(...place(0x2000))
  expect(trace.snapshot()).toMatchObject({ level: 0, allocations: [], holdings: [] })
  trace.setLevel(2)
  trace.freeCompleted(...place(0x2000)) // of what is not known
  const { events, operations, allocations } = trace.snapshot()
  expect(allocations).toEqual([])
  const changes = [...events.operation.keys()].filter(
    (i) => operations[events.operation[i]!] === 'levelChanged',
  )
  expect(changes.map((i) => events.bytes[i])).toEqual([2, 1, 3, 0, 2])
  trace.check()
})

test.each([
  [{ level: 4 }, /trace level is 4; give 0 \(off\) to 3/],
  [{ level: -1 }, /trace level is -1/],
  [{ ringEvents: 0 }, /ringEvents is 0; give 1 to 1000000/],
  [{ ringEvents: 1_000_001 }, /ringEvents is 1000001/],
  [{ sampleBytes: 0 }, /sampleBytes is 0/],
  [{ spillPath: 'x', spillBytes: 0 }, /spillBytes is 0/],
])('refuses %j', (options, sentence) => {
  const { code, message } = refusal(() => openTrace(options))
  expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(message).toMatch(sentence)
})

test('an allocation carries its stack, the allocator first', () => {
  const memory = openMemory()
  const trace = openTrace({}, memory)
  const held = memory.allocate('workspace', 100, 'request', 7, 'scratch')
  const snapshot = trace.snapshot()
  const [live] = snapshot.allocations
  expect(live).toMatchObject({ bytes: 512, ownerKind: 'request', ownerId: 7, region: 'workspace' })
  const names = namesOf(snapshot, live!.stack)
  expect(names.length).toBeLessThanOrEqual(8)
  expect(names[0]).toMatch(/DeviceAllocator::allocate/)
  expect(names.slice(1).join()).toMatch(/MemoryHandle::allocate/)
  memory.free(held)
  expect(trace.snapshot().allocations).toEqual([])
  memory.check()
})

test('the allocator and the ledger tell of all they do', () => {
  const memory = openMemory()
  const trace = openTrace({}, memory)
  memory.setLimit('kv', 2048)
  const held = memory.allocate('kv', 1024, 'engine', 0, 'kv')
  memory.transfer('kv', 'engine', 0, 'kv', 'session', 5, 'kv.blocks', 512, 1)
  expect(() => memory.allocate('kv', 4096, 'session', 5, 'more')).toThrow()
  expect(trace.snapshot().holdings).toMatchObject([
    { ownerKind: 'engine', bytes: 512 },
    { ownerKind: 'session', ownerId: 5, bytes: 512 },
  ])
  memory.transfer('kv', 'session', 5, 'kv.blocks', 'engine', 0, 'kv', 512, 1)
  memory.free(held)
  expect(eventsOf(trace.snapshot()).map(({ operation, bytes }) => [operation, bytes])).toEqual([
    ['allocated', 1024],
    ['transferred', 512],
    ['outOfMemory', 4096],
    ['transferred', 512],
    ['freeRequested', 1024],
    ['freeCompleted', 1024],
  ])
  expect(trace.snapshot()).toMatchObject({ allocations: [], holdings: [] })
  memory.check()
})
