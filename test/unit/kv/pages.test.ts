/** How a pool lies on its pages: 5.69 blocks of SmolLM2-135M to a page, 1.125 pages to a block of Qwen3-8B. */
import { openMemory, testing, type Memory, type Pool } from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'

const page = 2 ** 21
const smollm2 = 23_040 * 16
const qwen3 = 147_456 * 16

function open(blocks: number, blockBytes: number, room?: number): { memory: Memory; pool: Pool } {
  const memory = openMemory()
  const options = room === undefined ? { blocks, blockBytes } : { blocks, blockBytes, room }
  return { memory, pool: new testing.Pool(memory, options) }
}

const kvBytes = (memory: Memory): number => memory.statistics('kv').allocatedBytes

function lineBytes(memory: Memory, tag: string): number {
  return memory
    .lines()
    .filter((line) => line.tag === tag)
    .reduce((sum, { bytes }) => sum + bytes, 0)
}

test('a pool holds no memory until blocks are taken, and none after they are gone', () => {
  const { memory, pool } = open(1000, smollm2)
  expect(memory.lines()).toEqual([])
  expect(pool.pages()).toMatchObject({ mapped: 0, used: 0, free: 1000, capacity: 1000 })
  const blocks = pool.take(1, 20, -1, 20)!
  expect(pool.pages()).toMatchObject({ mapped: 8, used: 4, packed: 4 }) // a run is mapped at once
  expect(kvBytes(memory)).toBe(8 * page)
  expect(lineBytes(memory, 'kv.blocks')).toBe(20 * smollm2)
  expect(lineBytes(memory, 'kv.free')).toBe(25 * smollm2) // 45 whole blocks lie on 8 pages
  expect(lineBytes(memory, 'kv.padding')).toBe(8 * page - 45 * smollm2)
  pool.check()
  pool.release(1, blocks, 0)
  expect(pool.pages()).toMatchObject({ mapped: 8, used: 0, stuckBytes: 0 })
  expect(pool.trim(3)).toBe(5)
  expect(kvBytes(memory)).toBe(3 * page)
  pool.check()
  pool.trim(0)
  expect(memory.lines()).toEqual([])
  memory.check()
  pool.dispose()
})

test('pages whose blocks are in flight stay until the fence', () => {
  const { memory, pool } = open(100, qwen3)
  const blocks = pool.take(1, 8, -1, 8)!
  pool.release(1, blocks, 5)
  pool.trim(0)
  expect(pool.pages()).toMatchObject({ used: 9, mapped: 9, inFlight: 8 })
  pool.passFence(4)
  expect(pool.pages().used).toBe(9)
  pool.passFence(5)
  expect(pool.pages().used).toBe(0)
  pool.trim(0)
  expect(kvBytes(memory)).toBe(0)
  pool.check()
  pool.dispose()
})

test('each owner has pages of its own while there are pages, and shares them when there are not', () => {
  const { pool } = open(Math.floor((4 * page) / smollm2), smollm2)
  const first = pool.take(1, 3, -1, 3)!
  const second = pool.take(2, 3, -1, 3)!
  const pageOf = (block: number): number => Math.floor((block * smollm2) / page)
  expect(new Set(first.map(pageOf))).not.toContain(pageOf(second[0]!))
  expect(pool.take(1, 1, first.at(-1)!, 1)).toEqual([first.at(-1)! + 1])
  const rest = pool.pages().free
  expect(pool.take(3, rest, -1, rest)).toHaveLength(rest)
  expect(pool.take(4, 1, -1, 1)).toBeNull()
  expect(pool.pages()).toMatchObject({ free: 0, mapped: 4, used: 4 })
  pool.check()
  pool.dispose()
})

test('in steady state sessions come and go without a page mapped or given back', () => {
  const { memory, pool } = open(2000, smollm2)
  let fence = 0
  const turn = (): void => {
    const taken = [1, 2, 3, 4].map((session) => pool.take(session, 40, -1, 40)!)
    taken.forEach((blocks, index) => pool.release(index + 1, blocks, fence + 1))
    pool.passFence(++fence)
  }
  for (let round = 0; round < 10; round++) turn()
  const { allocations, frees } = memory.statistics('kv')
  for (let round = 0; round < 200; round++) turn()
  expect(memory.statistics('kv')).toMatchObject({ allocations, frees })
  // What was not needed for two windows of 256 fences goes, but for a few pages.
  for (let round = 0; round < 1000; round++) pool.passFence(++fence)
  expect(pool.pages().mapped).toBe(8)
  pool.check()
  pool.dispose()
})

test('when the device refuses a page the pool shrinks to what it holds, and grows again', () => {
  const { memory, pool } = open(100, qwen3, 20)
  expect(pool.take(1, 10, -1, 10)).toHaveLength(10)
  expect(pool.take(2, 30, -1, 30)).toBeNull()
  expect(pool.pages()).toMatchObject({ owned: 10, mapped: 20 })
  const { capacity } = pool.pages()
  expect(capacity).toBeGreaterThanOrEqual(16)
  expect(capacity).toBeLessThanOrEqual(17)
  pool.check()
  // All of what is left can be taken, down to the last block.
  while (pool.pages().free > 0) expect(pool.take(2, 1, -1, 1)).toHaveLength(1)
  expect(pool.take(2, 1, -1, 1)).toBeNull()
  expect(pool.pages().owned).toBe(capacity)
  pool.check()
  pool.setRoom(50)
  pool.raiseCapacity(30 * page)
  expect(pool.pages().capacity).toBe(capacity + Math.floor((30 * page) / qwen3))
  expect(pool.take(3, 20, -1, 20)).toHaveLength(20)
  pool.raiseCapacity(2 ** 50)
  expect(pool.pages().capacity).toBe(100)
  pool.check()
  memory.check()
  pool.dispose()
  expect(memory.lines()).toEqual([])
})

test('a lowered limit shrinks it too', () => {
  const { memory, pool } = open(100, smollm2)
  memory.setLimit('kv', 3 * page)
  expect(pool.take(1, 40, -1, 40)).toBeNull()
  expect(pool.pages().mapped).toBeLessThanOrEqual(3)
  expect(pool.take(1, pool.pages().free, -1, 1)).not.toBeNull()
  expect(pool.pages()).toMatchObject({ free: 0, owned: 17, mapped: 3 })
  pool.check()
  pool.dispose()
})

test('compaction empties the emptiest pages into the fullest, and the tables follow', () => {
  const { memory, pool } = open(1000, smollm2)
  const tables = new Map<number, number[]>()
  for (let session = 1; session <= 40; session++) tables.set(session, pool.take(session, 7, -1, 7)!)
  for (let session = 2; session <= 40; session += 2) pool.release(session, tables.get(session)!, 0)
  const before = pool.pages()
  expect(before.used).toBeGreaterThan(1.4 * before.packed)
  const contents = new Map<number, string>()
  for (let session = 1; session <= 40; session += 2) {
    tables.get(session)!.forEach((block, index) => contents.set(block, `${session}:${index}`))
  }
  for (let moves = pool.compact(false); moves.length > 0; moves = pool.compact(false)) {
    expect(moves.length / 3).toBeLessThanOrEqual(64)
    for (let at = 0; at < moves.length; at += 3) {
      const [session, from, to] = moves.slice(at, at + 3) as [number, number, number]
      const blocks = tables.get(session)!
      expect(blocks).toContain(from)
      contents.set(to, contents.get(from)!)
      blocks[blocks.indexOf(from)] = to
    }
    pool.check()
  }
  const after = pool.pages()
  expect(after.owned).toBe(before.owned)
  expect(after.used).toBeLessThanOrEqual(1.2 * after.packed)
  for (let session = 1; session <= 40; session += 2) {
    tables.get(session)!.forEach((block, index) => {
      expect(contents.get(block)).toBe(`${session}:${index}`)
    })
    pool.release(session, tables.get(session)!, 0)
  }
  pool.trim(0)
  memory.check()
  expect(memory.lines()).toEqual([])
  pool.dispose()
})

test('blocks in flight are not moved', () => {
  const { pool } = open(100, smollm2)
  const first = pool.take(1, 1, -1, 1)!
  pool.take(2, 1, -1, 1)
  pool.release(1, first, 9)
  for (let moves = pool.compact(false); moves.length > 0; moves = pool.compact(false)) {
    expect(moves.slice(0, 2)).not.toEqual([1, first[0]])
  }
  expect(pool.pages().inFlight).toBe(1)
  pool.passFence(9)
  pool.check()
  pool.dispose()
})

test('a step moves nothing while little is stuck', () => {
  const { pool } = open(1000, smollm2)
  for (let session = 1; session <= 5; session++) pool.take(session, 7, -1, 7)
  expect(pool.compact(true)).toEqual([])
  for (let session = 6; session <= 40; session++) pool.take(session, 7, -1, 7)
  expect(pool.compact(true).length).toBeGreaterThan(0)
  pool.dispose()
})

test('a pool that goes while its blocks are held gives every page back', () => {
  const { memory, pool } = open(100, qwen3)
  pool.take(1, 20, -1, 20)
  pool.release(2, [], 0)
  pool.dispose()
  expect(memory.lines()).toEqual([])
  memory.check()
})

test('more blocks than a block id can number are refused', () => {
  const memory = openMemory()
  const refused = refusal(() => new testing.Pool(memory, { blocks: 2 ** 31, blockBytes: 1 }))
  expect(refused.code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(memory.lines()).toEqual([])
})
