import { openMemory, type Region } from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'

const MiB = 2 ** 20

test('a region holds at most its limit, and the refusal names all three numbers', () => {
  const memory = openMemory()
  memory.setLimit('weights', 3 * MiB)
  const held = memory.allocate('weights', 2 * MiB, 'engine', 0, 'weights')
  const { code, message } = refusal(() =>
    memory.allocate('weights', 1.5 * MiB, 'engine', 0, 'weights'),
  )
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/region weights: asked 1\.50 MiB, holds 2 MiB of its limit 3 MiB; raise/)
  expect(memory.statistics('weights').failures).toBe(1)
  const rest = memory.allocate('weights', MiB, 'engine', 0, 'weights')
  expect(refusal(() => memory.allocate('weights', 1, 'engine', 0, 'x')).code).toBe(
    'OCTAVO_OUT_OF_MEMORY',
  )
  memory.check()
  memory.free(held)
  memory.free(rest)
  expect(memory.lines()).toEqual([])
})

test('lowering a limit below what is held refuses new requests only', () => {
  const memory = openMemory()
  const held = memory.allocate('kv', 2 * MiB, 'engine', 0, 'kv')
  memory.setLimit('kv', MiB)
  memory.check()
  expect(refusal(() => memory.allocate('kv', 1, 'engine', 0, 'kv')).message).toMatch(
    /holds 2 MiB of its limit 1 MiB/,
  )
  memory.free(held)
  expect(memory.free(memory.allocate('kv', MiB, 'engine', 0, 'kv'))).toBe(true)
})

test('a limit holds for rounded sizes', () => {
  const memory = openMemory()
  memory.setLimit('graph', 700)
  expect(refusal(() => memory.allocate('graph', 600, 'engine', 0, 'a')).code).toBe(
    'OCTAVO_OUT_OF_MEMORY',
  )
  expect(memory.free(memory.allocate('graph', 512, 'engine', 0, 'a'))).toBe(true)
})

test('nothing and more than any machine has are refused by code', () => {
  const memory = openMemory()
  expect(refusal(() => memory.allocate('kv', 0, 'engine', 0, 'kv')).code).toBe(
    'OCTAVO_INVALID_ARGUMENT',
  )
  for (const region of ['weights', 'pinned'] as const) {
    const { code, message } = refusal(() => memory.allocate(region, 2 ** 52, 'engine', 0, 'x'))
    expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(message).toMatch(/asked 4096 TiB of .*cpu .*which has .* free of/)
  }
  expect(memory.lines()).toEqual([])
  memory.check()
})

test('counters, ledger and device agree', () => {
  const memory = openMemory()
  const first = memory.allocate('weights', 1000, 'engine', 0, 'a')
  const second = memory.allocate('weights', 3000, 'engine', 0, 'b')
  memory.free(first)
  expect(memory.statistics('weights')).toEqual({
    allocatedBytes: 3072,
    allocatedPeakBytes: 4096,
    allocations: 2,
    frees: 1,
    failures: 0,
    regionBytes: 3072,
    regionPeakBytes: 4096,
    deviceBytes: 3072,
  })
  memory.free(second)
  expect(memory.statistics('weights').deviceBytes).toBe(0)
})

test('failing the n-th allocation, for every n, leaves what was held before', () => {
  const plan: [Region, number][] = [
    ['weights', 4096],
    ['pinned', 100],
    ['kv', 513],
    ['graph', 1],
    ['workspace', 2048],
  ]
  for (let failing = 1; failing <= plan.length; failing++) {
    const memory = openMemory()
    memory.failAfter(failing)
    const taken: number[] = []
    const { code } = refusal(() => {
      for (const [region, bytes] of plan)
        taken.push(memory.allocate(region, bytes, 'engine', 0, 'x'))
    })
    expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(taken).toHaveLength(failing - 1)
    expect(memory.lines()).toHaveLength(failing - 1)
    memory.check()
    for (const id of taken) memory.free(id)
    expect(memory.lines()).toEqual([])
    // The hook disarms itself.
    expect(memory.free(memory.allocate('kv', 1, 'engine', 0, 'x'))).toBe(true)
    memory.check()
  }
})
