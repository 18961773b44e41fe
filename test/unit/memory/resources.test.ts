/** One shape for everything that gives out memory; each adaptor adds one behaviour, in any order. */
import { memoryTesting, type Resource, type ResourceLayer } from '../../helpers/memory-testing.js'
import { refusal } from '../../helpers/refusal.js'

const opened: Resource[] = []

function open(...layers: ResourceLayer[]): Resource {
  const resource = new memoryTesting.Resource(layers)
  opened.push(resource)
  return resource
}

afterEach(() => {
  for (const resource of opened.splice(0)) {
    resource.dispose()
    expect(resource.deviceBytes()).toBe(0)
  }
})

test('the device alone: one call each, 0 bytes and too many refused', () => {
  const device = open()
  const address = device.allocate(1000, 'engine', 0, 'x')
  expect(address % 256).toBe(0)
  expect(device.deviceBytes()).toBe(1000)
  device.deallocate(address, 1000)
  expect(refusal(() => device.allocate(0, 'engine', 0, 'x')).code).toBe('OCTAVO_INVALID_ARGUMENT')
  const { code, message } = refusal(() => device.allocate(2 ** 52, 'engine', 0, 'x'))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/asked 4096 TiB of memory of cpu .* free of/)
})

test('a limit refuses with all three numbers, and forgets what was given back or failed', () => {
  const limited = open({ kind: 'failure', region: 'kv' }, { kind: 'limit', bytes: 1000 })
  limited.failAfter(1)
  expect(refusal(() => limited.allocate(900, 'engine', 0, 'x')).message).toMatch(
    /made this .* fail/,
  )
  const held = limited.allocate(600, 'engine', 0, 'x')
  const { code, message } = refusal(() => limited.allocate(401, 'engine', 0, 'big'))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/asked 401 bytes for big, holds 600 bytes of the limit 1000 bytes; raise/)
  const rest = limited.allocate(400, 'engine', 0, 'x')
  limited.setLimit(100)
  limited.deallocate(held, 600)
  expect(refusal(() => limited.allocate(1, 'engine', 0, 'x')).message).toMatch(/holds 400 bytes/)
  limited.deallocate(rest, 400)
  limited.deallocate(limited.allocate(100, 'engine', 0, 'x'), 100)
})

test('a refusal is asked again when something was given back, once', () => {
  const counted = open(
    { kind: 'limit', bytes: 1000 },
    { kind: 'retry', bytes: 700 },
    { kind: 'statistics' },
  )
  const small = counted.allocate(300, 'engine', 0, 'x')
  const large = counted.allocate(700, 'engine', 0, 'x') // in the place of the hoard
  expect(refusal(() => counted.allocate(1, 'engine', 0, 'x')).message).toMatch(/holds 1000 bytes/)
  expect(refusal(() => counted.allocate(0, 'engine', 0, 'x')).code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(counted.counters()).toMatchObject({ bytes: 1000, failures: 2 })
  counted.deallocate(small, 300)
  counted.deallocate(large, 700)
})

test('statistics count now, the most, everything, and refusals', () => {
  const counted = open({ kind: 'limit', bytes: 1000 }, { kind: 'statistics' })
  const first = counted.allocate(300, 'engine', 0, 'x')
  const second = counted.allocate(500, 'engine', 0, 'x')
  counted.deallocate(first, 300)
  refusal(() => counted.allocate(501, 'engine', 0, 'x'))
  expect(counted.counters()).toEqual({
    ...{ bytes: 500, peakBytes: 800, totalBytes: 800 },
    ...{ allocations: 1, peakAllocations: 2, totalAllocations: 2, failures: 1 },
  })
  counted.deallocate(second, 500)
})

test('tracking knows what is live, and keeps what does not match from going down', () => {
  const tracked = open({ kind: 'statistics' }, { kind: 'tracking' })
  const address = tracked.allocate(300, 'session', 7, 'mine')
  expect(tracked.live()).toEqual([
    { address, bytes: 300, ownerKind: 'session', ownerId: 7, tag: 'mine' },
  ])
  tracked.check()
  tracked.deallocate(address, 299)
  tracked.deallocate(address + 256, 300)
  expect(tracked.counters().allocations).toBe(1)
  const { code, message } = refusal(() => tracked.check())
  expect(code).toBe('OCTAVO_INTERNAL')
  expect(message).toMatch(/2 deallocations did not match; the first gave back 299 .* where 300 are/)
  tracked.deallocate(address, 300)
  expect(tracked.live()).toEqual([])
})

test('a failure is the n-th, once, and of one region if one is named', () => {
  const failing = open({ kind: 'failure', region: 'kv' }, { kind: 'tracking' })
  failing.failAfter(2, 'weights')
  const held = [1, 2, 3].map(() => failing.allocate(100, 'engine', 0, 'x'))
  failing.failAfter(2, 'kv')
  held.push(failing.allocate(100, 'engine', 0, 'x'))
  expect(refusal(() => failing.allocate(100, 'engine', 0, 'x')).code).toBe('OCTAVO_OUT_OF_MEMORY')
  held.push(failing.allocate(100, 'engine', 0, 'x'))
  expect(failing.live()).toHaveLength(5)
  for (const address of held) failing.deallocate(address, 100)
})

test('an alignment is kept, and upstream gets its own address back', () => {
  const aligned = open({ kind: 'tracking' }, { kind: 'aligned', alignment: 65536 })
  const held = [1, 2, 3].map(() => aligned.allocate(100, 'engine', 0, 'x'))
  for (const address of held) expect(address % 65536).toBe(0)
  for (const address of held) aligned.deallocate(address, 100)
  expect(aligned.live()).toEqual([])
  aligned.check()
  const { code, message } = refusal(() => open({ kind: 'aligned', alignment: 3 }))
  expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(message).toMatch(/an alignment of 3 bytes; give a power of two/)
})

test('an arena takes its size once, gives it out front to back, and begins anew when empty', () => {
  const arena = open({ kind: 'tracking' }, { kind: 'arena', bytes: 1024 })
  expect(arena.live()).toMatchObject([{ bytes: 1024, tag: 'arena' }])
  const first = arena.allocate(100, 'engine', 0, 'a')
  const second = arena.allocate(512, 'engine', 0, 'b')
  expect(second).toBe(first + 256)
  const { code, message } = refusal(() => arena.allocate(257, 'engine', 0, 'c'))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/asked 257 bytes for c of an arena of 1 KiB with 256 bytes left; plan/)
  arena.deallocate(first, 100)
  refusal(() => arena.allocate(257, 'engine', 0, 'c'))
  arena.deallocate(second, 512)
  expect(arena.allocate(1024, 'engine', 0, 'd')).toBe(first)
  arena.deallocate(first, 1024)
  expect(arena.live()).toHaveLength(1)
})
