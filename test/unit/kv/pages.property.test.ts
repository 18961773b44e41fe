/** Random sessions on random shapes, while the device's room comes and goes, against plain lists. */
import { openMemory, testing, type Pool } from '../../helpers/native-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

const page = 2 ** 21

/** Who owns which blocks, and which wait for which fence. */
class ModelPool {
  readonly tables = new Map<number, number[]>()
  inFlight: { block: number; fence: number }[] = []
  passed = 0

  table(session: number): number[] {
    const held = this.tables.get(session) ?? []
    this.tables.set(session, held)
    return held
  }

  get live(): number[] {
    const owned = [...this.tables.values()].flat()
    return [...owned, ...this.inFlight.map(({ block }) => block)]
  }

  release(session: number, blocks: number[], fence: number): void {
    const left = this.table(session).filter((block) => !blocks.includes(block))
    this.tables.set(session, left)
    if (fence <= this.passed) return
    this.inFlight.push(...blocks.map((block) => ({ block, fence })))
  }

  passFence(step: number): void {
    this.passed = Math.max(this.passed, step)
    this.inFlight = this.inFlight.filter(({ fence }) => fence > this.passed)
  }

  move(moves: number[]): void {
    for (let at = 0; at < moves.length; at += 3) {
      const table = this.table(moves[at]!)
      const place = table.indexOf(moves[at + 1]!)
      expect(place).toBeGreaterThanOrEqual(0)
      expect(this.live).not.toContain(moves[at + 2]!)
      table[place] = moves[at + 2]!
    }
  }
}

/** The pages that live blocks lie on. */
function pagesOf(blocks: readonly number[], blockBytes: number): number {
  const pages = new Set<number>()
  for (const block of blocks) {
    const last = Math.floor(((block + 1) * blockBytes - 1) / page)
    for (let at = Math.floor((block * blockBytes) / page); at <= last; at++) pages.add(at)
  }
  return pages.size
}

function agree(pool: Pool, model: ModelPool, blockBytes: number): void {
  pool.check()
  const figures = pool.pages()
  const { live } = model
  expect(new Set(live).size).toBe(live.length)
  expect(figures.inFlight).toBe(model.inFlight.length)
  expect(figures.owned).toBe(live.length - model.inFlight.length)
  expect(figures.free).toBe(figures.capacity - live.length)
  expect(figures.used).toBe(pagesOf(live, blockBytes))
  expect(figures.stuckBytes).toBe(figures.used * page - live.length * blockBytes)
}

test.each([
  [21, 23_040 * 16],
  [22, 147_456 * 16],
  [23, 31_104 * 32],
  [24, 147_456 * 32],
  [25, page],
  [26, 100_000],
])('random sessions agree with plain lists (seed %i, blocks of %i bytes)', (seed, blockBytes) => {
  const random = new SeededRandom(seed)
  const memory = openMemory()
  const blocks = random.between(40, 120)
  const pages = Math.ceil((blocks * blockBytes) / page)
  const pool = new testing.Pool(memory, { blocks, blockBytes })
  const model = new ModelPool()
  let fence = 1

  for (let turn = 0; turn < 500; turn++) {
    const session = random.between(1, 6)
    const table = model.table(session)
    const action = random.next()
    if (action < 0.4) {
      const count = random.between(0, 14)
      const { free, capacity } = pool.pages()
      const taken = pool.take(session, count, table.at(-1) ?? -1, count + random.between(0, 20))
      if (count > free) expect(taken).toBeNull()
      else if (taken === null) expect(pool.pages().capacity).toBeLessThan(capacity)
      if (taken !== null) expect(taken).toHaveLength(count)
      table.push(...(taken ?? []))
    } else if (action < 0.7 && table.length > 0) {
      const leaving = random.shuffle([...table]).slice(0, random.between(1, table.length))
      const until = random.pick([0, fence, fence + 1])
      pool.release(session, leaving, until)
      model.release(session, leaving, until)
    } else if (action < 0.82) {
      pool.passFence(fence)
      model.passFence(fence++)
    } else if (action < 0.9) {
      model.move(pool.compact(random.next() < 0.3))
    } else if (action < 0.95) {
      pool.trim(random.between(0, 4))
    } else {
      // Another process takes what is left, or gives it back.
      const room = random.pick([0, 1, pages - pool.pages().mapped])
      pool.setRoom(room)
      pool.raiseCapacity(room * page)
    }
    agree(pool, model, blockBytes)
    memory.check()
  }

  for (const [session, held] of model.tables) pool.release(session, held, 0)
  pool.passFence(fence + 1)
  pool.trim(0)
  pool.check()
  expect(memory.lines()).toEqual([])
  pool.dispose()
  memory.check()
})
