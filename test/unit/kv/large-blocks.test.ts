/** Blocks larger than a page: Qwen3-8B's of 32 tokens are 2.25 pages, so four of them lie on nine pages of their own. */
import { openMemory, testing, type Memory, type Pool } from '../../helpers/native-testing.js'

const page = 2 ** 21
const quarter = page / 4

function open(blocks: number, blockBytes: number): { memory: Memory; pool: Pool } {
  const memory = openMemory()
  return { memory, pool: new testing.Pool(memory, { blocks, blockBytes }) }
}

/** Slices until nothing moves any more, each checked; the tables follow. */
function compact(pool: Pool, tables: Map<number, number[]>): number {
  let count = 0
  for (let moves = pool.compact(false); moves.length > 0; moves = pool.compact(false)) {
    pool.check()
    count += moves.length / 3
    for (let at = 0; at < moves.length; at += 3) {
      const [session, from, to] = moves.slice(at, at + 3) as [number, number, number]
      const blocks = tables.get(session)!
      expect(blocks).toContain(from)
      expect([...tables.values()].flat()).not.toContain(to)
      blocks[blocks.indexOf(from)] = to
    }
  }
  return count
}

test('an owner who grows by one takes a place beside others, not pages of its own', () => {
  const { pool } = open(100, 9 * quarter)
  const first = pool.take(1, 12, -1, 12)!
  pool.release(1, [first[1]!, first[5]!], 0)
  const before = pool.pages()
  const [grown] = pool.take(2, 1, -1, 1)!
  expect([first[1], first[5]]).toContain(grown)
  expect(pool.pages().used - before.used).toBe(1) // 1.25 pages were stuck there
  expect(pool.pages().stuckBytes).toBe(before.stuckBytes - 5 * quarter)
  pool.check()
  pool.dispose()
})

test('compaction fills whole groups: at most one is left partly used', () => {
  const { memory, pool } = open(400, 9 * quarter)
  const tables = new Map<number, number[]>()
  for (let session = 1; session <= 50; session++) tables.set(session, pool.take(session, 6, -1, 6)!)
  for (const [session, blocks] of tables) {
    const gone = blocks.filter((block) => (block * 7 + session) % 5 < 3)
    pool.release(session, gone, 0)
    tables.set(
      session,
      blocks.filter((block) => !gone.includes(block)),
    )
  }
  expect(pool.pages().used).toBeGreaterThan(1.1 * pool.pages().packed)
  expect(compact(pool, tables)).toBeGreaterThan(0)
  const { used, packed } = pool.pages()
  expect(used - packed).toBeLessThanOrEqual(1)
  pool.trim(0)
  for (const [session, blocks] of tables) pool.release(session, blocks, 0)
  pool.trim(0)
  memory.check()
  expect(memory.lines()).toEqual([])
  pool.dispose()
})

test('a group with a block in flight is not emptied', () => {
  const { pool } = open(100, 9 * quarter)
  const tables = new Map<number, number[]>()
  for (let session = 1; session <= 6; session++) tables.set(session, pool.take(session, 4, -1, 4)!)
  for (const [session, blocks] of tables)
    pool.release(session, blocks.splice(2), session === 1 ? 9 : 0)
  const before = [...tables.get(1)!]
  expect(compact(pool, tables)).toBeGreaterThan(0)
  expect(tables.get(1)).toEqual(before)
  expect(pool.pages().inFlight).toBe(2)
  pool.check()
  pool.dispose()
})

test('where a group would be many blocks, they move one by one', () => {
  const { memory, pool } = open(300, page + 4096)
  const tables = new Map<number, number[]>()
  for (let session = 1; session <= 40; session++) tables.set(session, pool.take(session, 5, -1, 5)!)
  for (const [session, blocks] of tables) {
    pool.release(session, [blocks[1]!, blocks[3]!], 0)
    tables.set(session, [blocks[0]!, blocks[2]!, blocks[4]!])
  }
  const before = pool.pages()
  expect(compact(pool, tables)).toBeGreaterThan(0)
  expect(pool.pages().used).toBeLessThan(before.used)
  for (const [session, blocks] of tables) pool.release(session, blocks, 0)
  pool.trim(0)
  memory.check()
  pool.dispose()
})
