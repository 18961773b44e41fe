/** The prefix cache: who owns a block, who may write into it, and which goes first. */
import { openPrefix, owned } from '../../helpers/prefix-testing.js'
import { refusal } from '../../helpers/refusal.js'

const ids = (...numbers: number[]): Int32Array => Int32Array.from(numbers)

test('a block has one owner: who held it longest, then who holds it still, then the engine', () => {
  const { memory, prefix, pool } = openPrefix(10)
  const first = prefix.request(1, ids(1, 2, 3), 0)!
  expect(first.hits).toBe(0)
  const second = prefix.request(2, ids(1, 2, 4), 0)!
  expect(second).toEqual({
    hits: 2,
    blocks: [first.blocks[0], first.blocks[1], expect.any(Number)],
  })
  expect(owned(memory)).toEqual({ 'session 1': 3, 'session 2': 1 })
  expect(prefix.report()).toMatchObject({ blocks: 4, cached: 0, shared: 2 })
  prefix.check()
  prefix.leave(1, first.blocks, 0, false)
  expect(owned(memory)).toEqual({ 'engine 0': 1, 'session 2': 3 })
  prefix.check()
  prefix.leave(2, second.blocks, 0, false)
  expect(owned(memory)).toEqual({ 'engine 0': 4 })
  expect(prefix.report()).toMatchObject({ blocks: 4, cached: 4, shared: 0 })
  prefix.check()
  expect(prefix.evict(10, false, 0)).toBe(4)
  expect(pool.pages().free).toBe(10)
  prefix.check()
})

test('what is held is not evicted, what is dropped is not kept, what is shared passes on', () => {
  const { prefix, pool, memory } = openPrefix(10)
  const first = prefix.request(1, ids(1, 2), 0)!
  const second = prefix.request(2, ids(1, 2, 3), 0)!
  expect(prefix.evict(10, false, 0)).toBe(0)
  prefix.leave(2, second.blocks, 0, true)
  expect(owned(memory)).toEqual({ 'session 1': 2 })
  expect(prefix.report()).toMatchObject({ blocks: 2, cached: 0, history: 1 })
  prefix.leave(1, first.blocks, 0, true)
  expect(pool.pages()).toMatchObject({ free: 10, owned: 0 })
  prefix.check()
})

test('an evicted block is reusable after the last step that was in it', () => {
  const { prefix, pool } = openPrefix(4)
  prefix.leave(1, prefix.request(1, ids(1, 2), 0)!.blocks, 7, false)
  expect(prefix.evict(1, false, 9)).toBe(1) // step 9 is in flight, and has nothing of it
  expect(pool.pages()).toMatchObject({ free: 2, owned: 1, inFlight: 1 })
  pool.passFence(7)
  expect(pool.pages()).toMatchObject({ free: 3, inFlight: 0 })
  expect(prefix.evict(1, false, 9)).toBe(1)
  expect(pool.pages()).toMatchObject({ free: 4, inFlight: 0 })
  prefix.check()
})

test('a block that two let go of waits for the later of their steps', () => {
  const { prefix, pool } = openPrefix(4)
  const { blocks } = prefix.request(1, ids(1), 0)!
  prefix.share(blocks, 1, 2)
  prefix.leave(1, blocks, 5, false)
  prefix.leave(2, blocks, 3, true)
  expect(pool.pages()).toMatchObject({ free: 3, inFlight: 1 })
  pool.passFence(4)
  expect(pool.pages()).toMatchObject({ free: 3, inFlight: 1 })
  pool.passFence(5)
  expect(pool.pages()).toMatchObject({ free: 4, inFlight: 0 })
  prefix.check()
})

test('a fork shares every block; who writes must be alone, and is not found any more', () => {
  const { prefix, memory } = openPrefix(10)
  const { blocks } = prefix.request(1, ids(1, 2), 0)!
  prefix.share(blocks, 1, 2)
  expect(blocks.map((block) => prefix.claim(block))).toEqual([false, false])
  prefix.leave(1, [blocks[1]!], 0, false)
  expect(owned(memory)).toEqual({ 'session 1': 1, 'session 2': 1 })
  expect(prefix.claim(blocks[1]!)).toBe(true)
  expect(prefix.request(3, ids(1, 2), 0)!.hits).toBe(1)
  prefix.check()
})

test('blocks that were never entered may be shared too', () => {
  const { prefix, pool, memory } = openPrefix(10)
  const blocks = pool.take(1, 2, -1, 2)!
  prefix.share(blocks, 1, 2)
  prefix.check()
  expect(prefix.report()).toMatchObject({ blocks: 0, shared: 2 })
  prefix.leave(1, blocks, 0, false)
  expect(owned(memory)).toEqual({ 'session 2': 2 })
  expect(prefix.claim(blocks[0]!)).toBe(true)
  prefix.leave(2, blocks, 0, false)
  expect(pool.pages().free).toBe(10)
  prefix.check()
})

test('who computed what is there already gives its own block up', () => {
  const { prefix, pool } = openPrefix(10, { eviction: 'lru' })
  prefix.leave(1, prefix.request(1, ids(1, 2, 3), 0)!.blocks, 0, false)
  expect(prefix.evict(1, false, 0)).toBe(1) // the textbook's order: the beginning goes first
  const { hits, blocks } = prefix.request(2, ids(1, 2, 3), 0)!
  expect(hits).toBe(0)
  expect(new Set(blocks).size).toBe(3)
  expect(prefix.report()).toMatchObject({ merged: 2, blocks: 3, cached: 0 })
  expect(pool.pages()).toMatchObject({ owned: 3, free: 7 })
  prefix.check()
})

/** Requests of one block each, one after the other; then what goes, in order. */
function victims(options: object, uses: number[], pauses: Record<number, number> = {}): number[] {
  const { prefix } = openPrefix(40, options)
  const names = new Map<number, number>()
  uses.forEach((id, index) => {
    prefix.advance(pauses[index] ?? 0)
    const { blocks } = prefix.request(index + 1, ids(id), 0)!
    names.set(blocks[0]!, id)
    prefix.leave(index + 1, blocks, 0, false)
  })
  const left = new Set(uses)
  const gone: number[] = []
  while (prefix.evict(1, false, 0) === 1) {
    prefix.check()
    const { blocks } = prefix.report()
    const lost = [...left].filter((id) => prefix.has(ids(id)) === 0)
    expect(lost).toHaveLength(left.size - blocks)
    gone.push(...lost)
    for (const id of lost) left.delete(id)
  }
  return gone
}

test('LRU-2 evicts what was used once first, then by the second-last use', () => {
  expect(victims({}, [1, 2, 3, 1, 4, 2, 2])).toEqual([3, 4, 1, 2])
  expect(victims({}, [1, 2, 2, 1])).toEqual([1, 2])
})

test('LRU evicts by the last use alone', () => {
  expect(victims({ eviction: 'lru' }, [1, 2, 3, 1, 4, 2, 2])).toEqual([3, 1, 4, 2])
})

test('uses within the correlated period count as one', () => {
  expect(victims({ correlatedUses: 1 }, [1, 1, 2, 3, 2])).toEqual([1, 3, 2])
  expect(victims({ correlatedUses: 0 }, [1, 1, 2, 3, 2])).toEqual([3, 1, 2])
})

test('a block used twice is retained for its time, whatever the order says', () => {
  const uses = [1, 1, 2, 2, 1, 3]
  const pauses = { 4: 1000, 5: 5000 } // when the evictions come, 2 was last used 6 s ago, 1 5 s
  expect(victims({}, uses, pauses)).toEqual([3, 1, 2])
  expect(victims({ retentionMs: 5500 }, uses, pauses)).toEqual([3, 2, 1])
  expect(victims({ retentionMs: 7000 }, uses, pauses)).toEqual([3, 2, 1])
  expect(victims({ retentionMs: 5000 }, uses, pauses)).toEqual([3, 1, 2])
})

test('a block that returns from the history has been used twice', () => {
  const { prefix } = openPrefix(20)
  prefix.leave(1, prefix.request(1, ids(1), 0)!.blocks, 0, false)
  expect(prefix.evict(1, false, 0)).toBe(1)
  expect(prefix.report().history).toBe(1)
  prefix.leave(2, prefix.request(2, ids(1), 0)!.blocks, 0, false)
  expect(prefix.report().history).toBe(0)
  prefix.leave(3, prefix.request(3, ids(2), 0)!.blocks, 0, false)
  expect(prefix.evict(5, true, 0)).toBe(1)
  expect(prefix.has(ids(1))).toBe(1)
  prefix.check()
})

test('no more than the share is kept, and four times as many are remembered', () => {
  const { prefix, pool } = openPrefix(10, { share: 0.7 })
  for (let session = 1; session <= 60; session++) {
    prefix.leave(session, prefix.request(session, ids(session), 0)!.blocks, 0, false)
    prefix.check()
    expect(prefix.report().cached).toBe(Math.min(session, 7))
  }
  expect(prefix.report()).toMatchObject({ history: 28, evicted: 53 })
  expect(pool.pages()).toMatchObject({ owned: 7, free: 3 })
})

test('blocks that move are found where they are', () => {
  const { prefix } = openPrefix(4096)
  const long = prefix.request(
    1,
    Int32Array.from({ length: 2000 }, (_, index) => index),
    0,
  )!
  const other = prefix.request(
    2,
    Int32Array.from({ length: 600 }, (_, index) => 5000 + index),
    0,
  )!
  prefix.leave(1, long.blocks, 0, false)
  expect(prefix.evict(1990, false, 0)).toBe(1990)
  let moved = 0
  for (let moves = prefix.compact(); moves.length > 0; moves = prefix.compact()) {
    moved += moves.length / 2
    prefix.check()
    for (let at = 0; at < moves.length; at += 2) {
      const index = other.blocks.indexOf(moves[at]!)
      if (index >= 0) other.blocks[index] = moves[at + 1]!
    }
  }
  expect(moved).toBeGreaterThan(0)
  expect(
    prefix.request(
      3,
      Int32Array.from({ length: 10 }, (_, index) => index),
      0,
    )!.hits,
  ).toBe(10)
  prefix.leave(2, other.blocks, 0, false)
  prefix.check()
})

test('a session that leaves a block it does not hold is named', () => {
  const { prefix } = openPrefix(4)
  const { blocks } = prefix.request(1, ids(1), 0)!
  const refused = refusal(() => prefix.leave(2, blocks, 0, false))
  expect(refused.code).toBe('OCTAVO_INTERNAL')
  expect(refused.message).toMatch(/block \d+ is listed by session 2, which holds it 0 times/)
  prefix.check()
})
