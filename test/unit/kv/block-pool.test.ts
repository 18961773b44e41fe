import { openMemory, testing, type Cache, type Memory } from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'

const shape = { dtype: 'bf16', layers: 2, kvHeads: 3, blockSize: 16, headDim: 8 } as const
const blockBytes = 2 * 2 * 3 * 16 * 8 * 2

function open(blocks: number): { memory: Memory; cache: Cache } {
  const memory = openMemory()
  return { memory, cache: new testing.Cache(memory, shape, blocks) }
}

function lines(memory: Memory): (string | number)[][] {
  return memory
    .lines()
    .map((line) => [`${line.ownerKind} ${line.ownerId}`, line.tag, line.bytes, line.count])
}

test('a block is layers × 2 × kvHeads × blockSize × headDim elements', () => {
  const { memory, cache } = open(10)
  expect(cache.counts()).toEqual({ total: 10, free: 10, owned: 0, inFlight: 0, blockBytes })
  expect(memory.statistics('kv').allocatedBytes).toBe(0)
  cache.dispose()
  expect(memory.lines()).toEqual([])
})

test('blocks go from free to owned to in flight to free, on the ledger too', () => {
  const { memory, cache } = open(8)
  expect(lines(memory)).toEqual([])
  const padding = ['engine 0', 'kv.padding', 2 ** 21 - 8 * blockBytes, 1]
  const blocks = cache.take('session', 5, 3)
  expect(blocks).toEqual([0, 1, 2])
  expect(lines(memory)).toEqual([
    ['engine 0', 'kv.free', 5 * blockBytes, 5],
    padding,
    ['session 5', 'kv.blocks', 3 * blockBytes, 3],
  ])
  cache.release('session', 5, [1, 2], 7)
  expect(lines(memory)).toEqual([
    ['engine 0', 'kv.free', 5 * blockBytes, 5],
    ['engine 0', 'kv.inFlight', 2 * blockBytes, 2],
    padding,
    ['session 5', 'kv.blocks', blockBytes, 1],
  ])
  cache.passFence(6)
  expect(cache.counts().inFlight).toBe(2)
  cache.passFence(7)
  expect(cache.counts()).toMatchObject({ free: 7, owned: 1, inFlight: 0 })
  cache.release('session', 5, [0], 0)
  expect(lines(memory)).toEqual([['engine 0', 'kv.free', 8 * blockBytes, 8], padding])
  cache.check()
  memory.check()
})

test('a fence that has passed already frees at once', () => {
  const { cache } = open(4)
  cache.take('session', 1, 4)
  cache.passFence(10)
  cache.release('session', 1, [0, 1], 10)
  cache.release('session', 1, [2], 11)
  expect(cache.counts()).toMatchObject({ free: 2, owned: 1, inFlight: 1 })
})

test('taking is all or nothing, lowest ids first', () => {
  const { cache } = open(5)
  expect(cache.take('session', 1, 6)).toBeNull()
  expect(cache.take('session', 1, 4)).toEqual([0, 1, 2, 3])
  expect(cache.take('session', 2, 2)).toBeNull()
  expect(cache.take('session', 2, 0)).toEqual([])
  cache.release('session', 1, [3, 0], 0)
  expect(cache.take('session', 2, 2)).toEqual([0, 3])
  expect(cache.ownedBy('session', 1)).toBe(2)
  expect(cache.ownedBy('session', 2)).toBe(2)
  expect(cache.ownedBy('session', 3)).toBe(0)
  cache.check()
})

test.each([
  [
    'another owner’s block',
    [2],
    /block 2 cannot be released by session 1: it is owned, last owner session 2/,
  ],
  ['a free block', [3], /block 3 .*it is free/],
  ['a block twice', [0, 1, 0], /block 0 .*it is in flight, last owner session 1/],
  ['an unknown block', [0, 4], /block 4 .*the pool has 4 blocks/],
  ['a negative block', [-1], /block -1 .*the pool has 4 blocks/],
])('releasing %s is refused and changes nothing', (_, blocks, message) => {
  const { memory, cache } = open(4)
  cache.take('session', 1, 2)
  cache.take('session', 2, 1)
  const before = memory.lines()
  const refused = refusal(() => cache.release('session', 1, blocks, 3))
  expect(refused.code).toBe('OCTAVO_INTERNAL')
  expect(refused.message).toMatch(message)
  expect(memory.lines()).toEqual(before)
  cache.check()
  cache.release('session', 1, [0, 1], 3)
  cache.check()
})

test('a cache that goes with blocks owned and in flight leaves nothing', () => {
  const { memory, cache } = open(6)
  cache.take('session', 1, 3)
  cache.release('session', 1, [1], 9)
  cache.dispose()
  expect(memory.lines()).toEqual([])
  memory.check()
  expect(memory.statistics('kv').deviceBytes).toBe(0)
})

test('what of a page is in no block is shown under its own name', () => {
  const memory = openMemory()
  const tiny = { dtype: 'fp16', layers: 1, kvHeads: 1, blockSize: 16, headDim: 2 } as const
  const cache = new testing.Cache(memory, tiny, 3)
  cache.take('session', 1, 1)
  expect(lines(memory)).toEqual([
    ['engine 0', 'kv.free', 256, 2],
    ['engine 0', 'kv.padding', 2 ** 21 - 384, 1],
    ['session 1', 'kv.blocks', 128, 1],
  ])
  cache.check()
  memory.check()
  cache.dispose()
  expect(memory.lines()).toEqual([])
})

test('check() names what a broken ledger line should hold', () => {
  const { memory, cache } = open(4)
  cache.take('session', 1, 2)
  memory.transfer('kv', 'session', 1, 'kv.blocks', 'session', 2, 'kv.blocks', blockBytes, 1)
  const { code, message } = refusal(() => cache.check())
  expect(code).toBe('OCTAVO_INTERNAL')
  expect(message).toMatch(/session 1 \/ kv\.blocks in blocks: 1, expected 2/)
})

test.each([
  ['blockSize', { blockSize: 20 }, 4],
  ['layers', { layers: 0 }, 4],
  ['kvHeads', { kvHeads: -1 }, 4],
  ['headDim', { headDim: 257 }, 4],
  ['blocks', {}, 0],
  ['blocks', {}, 2 ** 40],
])('a cache with a bad %s is refused', (name, change, blocks) => {
  const memory = openMemory()
  const refused = refusal(() => new testing.Cache(memory, { ...shape, ...change }, blocks))
  expect(refused.code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(refused.message).toContain(name)
  expect(memory.lines()).toEqual([])
})

test('a cache without addresses is refused, and one beyond the limit hands out what fits', () => {
  const memory = openMemory()
  memory.setLimit('kv', 2 ** 21 - 1)
  const cache = new testing.Cache(memory, shape, 11)
  expect(cache.take('session', 1, 1)).toBeNull()
  cache.check()
  cache.dispose()
  memory.failAfter(1)
  expect(refusal(() => new testing.Cache(memory, shape, 10)).code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(memory.lines()).toEqual([])
  memory.check()
})
