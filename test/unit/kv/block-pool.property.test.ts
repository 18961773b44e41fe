import { openMemory, testing, type Cache } from '../../helpers/native-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

const shape = { dtype: 'fp16', layers: 1, kvHeads: 2, blockSize: 32, headDim: 16 } as const

/** The pool as three plain lists. */
class ModelPool {
  readonly free: Set<number>
  readonly owned = new Map<number, number[]>()
  inFlight: { block: number; fence: number }[] = []
  passed = 0

  constructor(blocks: number) {
    this.free = new Set(Array.from({ length: blocks }, (_, id) => id))
  }

  take(owner: number, count: number): number[] | null {
    if (count > this.free.size) return null
    const blocks = [...this.free].sort((left, right) => left - right).slice(0, count)
    for (const block of blocks) this.free.delete(block)
    this.owned.set(owner, [...(this.owned.get(owner) ?? []), ...blocks])
    return blocks
  }

  release(owner: number, blocks: number[], fence: number): void {
    const left = (this.owned.get(owner) ?? []).filter((block) => !blocks.includes(block))
    this.owned.set(owner, left)
    for (const block of blocks) {
      if (fence <= this.passed) this.free.add(block)
      else this.inFlight.push({ block, fence })
    }
  }

  passFence(step: number): void {
    this.passed = Math.max(this.passed, step)
    for (const { block } of this.inFlight.filter(({ fence }) => fence <= this.passed))
      this.free.add(block)
    this.inFlight = this.inFlight.filter(({ fence }) => fence > this.passed)
  }

  counts(): object {
    const owned = [...this.owned.values()].reduce((sum, blocks) => sum + blocks.length, 0)
    return { free: this.free.size, owned, inFlight: this.inFlight.length }
  }
}

function agree(cache: Cache, model: ModelPool): void {
  cache.check()
  expect(cache.counts()).toMatchObject(model.counts())
  for (const [owner, blocks] of model.owned) {
    expect(cache.ownedBy('session', owner)).toBe(blocks.length)
  }
}

test.each([11, 12, 13, 14])('random sessions agree with a model (seed %i)', (seed) => {
  const random = new SeededRandom(seed)
  const memory = openMemory()
  const blocks = random.between(20, 60)
  const cache = new testing.Cache(memory, shape, blocks)
  const model = new ModelPool(blocks)
  let step = 1

  for (let turn = 0; turn < 800; turn++) {
    const owner = random.between(1, 5)
    const held = model.owned.get(owner) ?? []
    const action = random.next()
    if (action < 0.45) {
      const count = random.between(0, 12)
      expect(cache.take('session', owner, count)).toEqual(model.take(owner, count))
    } else if (action < 0.8 && held.length > 0) {
      const leaving = random.shuffle([...held]).slice(0, random.between(1, held.length))
      const fence = random.pick([0, step - 1, step, step + 1, step + 2])
      cache.release('session', owner, leaving, fence)
      model.release(owner, leaving, fence)
    } else {
      cache.passFence(step)
      model.passFence(step)
      step++
    }
    agree(cache, model)
    memory.check()
  }

  for (const [owner, held] of model.owned) cache.release('session', owner, held, 0)
  cache.passFence(step + 2)
  cache.check()
  expect(cache.counts()).toMatchObject({ free: blocks, owned: 0, inFlight: 0 })
  expect(memory.lines().map(({ tag }) => tag)).toEqual(['kv.free', 'kv.padding'])
  cache.dispose()
  expect(memory.lines()).toEqual([])
})
