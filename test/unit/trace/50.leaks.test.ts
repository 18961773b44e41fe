import { openMemory, openTrace } from '../../helpers/native-testing.js'

test('an allocation that outlives its owner is found, with owner and stack', () => {
  const memory = openMemory()
  const trace = openTrace({ ringEvents: 2 }, memory)
  const leaked = memory.allocate('workspace', 1000, 'session', 4, 'scratch')
  memory.free(memory.allocate('workspace', 1000, 'session', 4, 'scratch'))
  const other = memory.allocate('workspace', 1000, 'session', 5, 'scratch')
  trace.ownerEnded('session', 4)
  const { leaks, nowNs } = trace.leaks('session', 4)
  expect(leaks).toMatchObject([
    {
      region: 'workspace',
      ownerKind: 'session',
      ownerId: 4,
      tag: 'scratch',
      bytes: 1024,
      count: 1,
    },
  ])
  const [leak] = leaks
  expect(leak!.address).toBeGreaterThan(0)
  expect(leak!.stack.map((frame) => frame.function).join()).toMatch(/MemoryHandle::allocate/)
  expect(leak!.sinceNs).toBeLessThanOrEqual(leak!.endedNs)
  expect(leak!.endedNs).toBeLessThanOrEqual(nowNs)
  memory.free(leaked)
  expect(trace.leaks('session', 4).leaks).toEqual([])
  memory.free(other)
})

test('bytes that were transferred to it are found, with the stack of the transfer', () => {
  const memory = openMemory()
  const trace = openTrace({}, memory)
  const held = memory.allocate('kv', 4096, 'engine', 0, 'kv')
  memory.transfer('kv', 'engine', 0, 'kv', 'session', 9, 'kv.blocks', 1024, 1)
  const { leaks } = trace.leaks('session', 9)
  expect(leaks).toMatchObject([
    { region: 'kv', ownerId: 9, tag: 'kv.blocks', bytes: 1024, count: 1, address: 0, endedNs: 0 },
  ])
  expect(leaks[0]!.stack[0]!.function).toMatch(/Ledger::transfer/)
  memory.transfer('kv', 'session', 9, 'kv.blocks', 'engine', 0, 'kv', 1024, 1)
  memory.free(held)
})

test('the ledger finds it at level 0 too, without a stack', () => {
  const memory = openMemory()
  const trace = openTrace({ level: 0 }, memory)
  const leaked = memory.allocate('workspace', 1000, 'request', 4, 'scratch')
  expect(trace.leaks('request', 4).leaks).toMatchObject([
    { bytes: 1024, count: 1, address: 0, sinceNs: 0, stack: [] },
  ])
  memory.free(leaked)
})

test('what was allocated before and after the trace began adds up', () => {
  const memory = openMemory()
  const trace = openTrace({ level: 0 }, memory)
  const before = memory.allocate('workspace', 512, 'session', 1, 'scratch')
  trace.setLevel(2)
  const after = memory.allocate('workspace', 1024, 'session', 1, 'scratch')
  const { leaks } = trace.leaks('session', 1)
  expect(leaks.map(({ bytes, count, address }) => [bytes, count, address > 0])).toEqual([
    [1024, 1, true],
    [512, 1, false],
  ])
  memory.free(before)
  memory.free(after)
})
