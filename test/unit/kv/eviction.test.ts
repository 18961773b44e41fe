/** Whose KV goes: the oldest, and among those about as old who empties pages. 5.69 blocks of SmolLM2-135M to a page. */
import { openMemory, testing, type Pool } from '../../helpers/native-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

const page = 2 ** 21
const smollm2 = 23_040 * 16

const open = (blocks: number, blockBytes = smollm2): Pool =>
  new testing.Pool(openMemory(), { blocks, blockBytes })

/** Carries a plan out; the blocks that went, by candidate. */
function carryOut(pool: Pool, tables: [session: number, blocks: number[]][], evictions: number[]) {
  for (let at = 0; at < evictions.length; at += 2) {
    const [session, blocks] = tables[evictions[at]!]!
    pool.release(session, blocks.splice(blocks.length - evictions[at + 1]!), 0)
  }
}

test('lru takes from the oldest, from the end of it, no more than is wanted', () => {
  const pool = open(100)
  const tables = [4, 5, 6].map((count, index) => pool.take(index + 1, count, -1, count)!)
  expect(pool.planEviction(tables, 3, false)).toMatchObject({ evictions: [0, 3], blocks: 3 })
  expect(pool.planEviction(tables, 7, false)).toMatchObject({ evictions: [0, 4, 1, 3], blocks: 7 })
  expect(pool.planEviction(tables, 99, false)).toMatchObject({
    evictions: [0, 4, 1, 5, 2, 6],
    blocks: 15,
  })
  expect(pool.planEviction([], 5, true)).toEqual({ evictions: [], blocks: 0, pages: 0 })
  pool.dispose()
})

test('of those about as old, page-aware takes who empties a page', () => {
  const pool = open(100, page / 4)
  const shared = pool.take(1, 2, -1, 2)! // with half a page of session 9
  const beside = pool.take(9, 1, shared.at(-1)!, 1)!
  expect(Math.floor(beside[0]! / 4)).toBe(Math.floor(shared[0]! / 4))
  const alone = pool.take(2, 4, -1, 4)!
  const young = [3, 4].map((session) => pool.take(session, 4, -1, 4)!)
  const candidates = [shared, alone, ...young]
  expect(pool.planEviction(candidates, 2, false)).toEqual({
    evictions: [0, 2],
    blocks: 2,
    pages: 0,
  })
  // All four: with two of them the page would stay.
  expect(pool.planEviction(candidates, 2, true)).toEqual({ evictions: [1, 4], blocks: 4, pages: 1 })
  // Only the older half is about as old: of two, that is the first.
  expect(pool.planEviction([shared, alone], 2, true).evictions).toEqual([0, 2])
  pool.dispose()
})

test('pages that two share are empty when both have gone', () => {
  const pool = open(100, page / 4)
  const first = pool.take(1, 2, -1, 2)!
  const second = pool.take(2, 2, first.at(-1)!, 2)!
  expect(pool.planEviction([first, second], 4, true)).toEqual({
    evictions: [0, 2, 1, 2],
    blocks: 4,
    pages: 1,
  })
  pool.dispose()
})

test.each([
  ['lru', false],
  ['page-aware', true],
])('%s: what a plan says is what happens (random pools)', (_, pageAware) => {
  const random = new SeededRandom(7)
  for (const blockBytes of [smollm2, 2 * smollm2, page, (9 * page) / 4, page + 4096]) {
    const pool = open(120, blockBytes)
    const tables: [number, number[]][] = []
    for (let session = 1; session <= 300; session++) {
      const count = random.between(1, 12)
      const missing = count - pool.pages().free
      if (missing > 0) {
        const before = pool.pages()
        const candidates = tables.map(([, blocks]) => blocks)
        const plan = pool.planEviction(candidates, missing, pageAware)
        carryOut(pool, tables, plan.evictions)
        pool.check()
        const after = pool.pages()
        expect(plan.blocks).toBeGreaterThanOrEqual(missing)
        expect(before.owned - after.owned).toBe(plan.blocks)
        expect(before.used - after.used).toBe(plan.pages)
      }
      tables.push([session, pool.take(session, count, -1, count)!])
      tables.splice(0, tables.length, ...tables.filter(([, blocks]) => blocks.length > 0))
    }
    pool.dispose()
  }
})

/** Turns of idle sessions in a full pool, then a third of the pool is given up. Pages used over the packed floor. */
function pinnedAfter(pageAware: boolean, seed: number): number {
  const random = new SeededRandom(seed)
  const pool = open(600)
  const idle: [session: number, blocks: number[]][] = []
  const free = (wanted: number): void => {
    const candidates = idle.map(([, blocks]) => blocks)
    const missing = wanted - pool.pages().free
    if (missing > 0)
      carryOut(pool, idle, pool.planEviction(candidates, missing, pageAware).evictions)
  }
  for (let turn = 1; turn <= 400; turn++) {
    const again = random.next() < 0.4 && idle.length > 0
    const [[session, blocks]] = again
      ? (idle.splice(random.between(0, idle.length - 1), 1) as [[number, number[]]])
      : ([[turn, []]] as [[number, number[]]])
    const count = random.between(1, 20)
    free(count)
    blocks.push(...pool.take(session, count, blocks.at(-1) ?? -1, count)!)
    idle.push([session, blocks])
  }
  free(200)
  pool.check()
  const { used, packed } = pool.pages()
  pool.dispose()
  return used / packed
}

test('page-aware pins fewer pages than lru', () => {
  const seeds = [1, 2, 3, 4, 5, 6, 7, 8]
  const mean = (pageAware: boolean): number =>
    seeds.reduce((sum, seed) => sum + pinnedAfter(pageAware, seed), 0) / seeds.length
  const [lru, aware] = [mean(false), mean(true)]
  expect(lru).toBeGreaterThan(1.2) // otherwise there is nothing to gain
  expect(aware - 1).toBeLessThan(0.9 * (lru - 1))
})
