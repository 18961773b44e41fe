/** The KV pool on a device's pages: it grows, shrinks and moves together, and every block holds what was written. */
import { randomFillSync } from 'node:crypto'
import {
  disposeAfter,
  openMemory,
  testing,
  type Cache,
  type CacheShape,
  type Memory,
} from '../helpers/native-testing.js'
import { SeededRandom } from '../helpers/seeded-random.js'
import { DriverMeter, type DeviceName } from './driver.js'
import { fillDevice, openNearlyFull } from './full-device.js'

const MiB = 2 ** 20
const page = 2 * MiB

const shapes: Record<string, CacheShape> = {
  'many blocks on a page': { dtype: 'bf16', layers: 4, kvHeads: 2, blockSize: 16, headDim: 64 },
  'blocks that straddle pages': {
    dtype: 'fp16',
    layers: 5,
    kvHeads: 3,
    blockSize: 32,
    headDim: 80,
  },
  'pages within a block': { dtype: 'bf16', layers: 36, kvHeads: 8, blockSize: 32, headDim: 128 },
}

const noise = randomFillSync(Buffer.alloc(16 * MiB))

/** Sessions with their block tables; a block's bytes depend on whose it is and where in the table. */
class Sessions {
  readonly tables = new Map<number, number[]>()
  #last = 0

  constructor(
    readonly cache: Cache,
    readonly blockBytes: number,
  ) {}

  #content(session: number, index: number): Buffer {
    const start = ((session * 1009 + index * 101) % 1000) * 4099
    return noise.subarray(start, start + this.blockBytes)
  }

  /** A new session of so many blocks, written; null when the pool has not so many. */
  create(count: number): number | null {
    const session = ++this.#last
    const blocks = this.cache.take('session', session, count)
    if (blocks === null) return null
    this.tables.set(session, blocks)
    blocks.forEach((block, index) => this.cache.write(block, this.#content(session, index)))
    return session
  }

  end(session: number, fence: number): void {
    this.cache.release('session', session, this.tables.get(session)!, fence)
    this.tables.delete(session)
  }

  /** Slices until there is nothing to move; returns how many blocks did. */
  compact(): number {
    let count = 0
    for (;;) {
      const moves = this.cache.compact()
      if (moves.length === 0) return count
      for (let at = 0; at < moves.length; at += 3) {
        const [session, from, to] = moves.slice(at, at + 3) as [number, number, number]
        const table = this.tables.get(session)!
        table[table.indexOf(from)] = to
        count++
      }
    }
  }

  /** Every block of every session, to the bit. */
  expectExact(): void {
    for (const [session, table] of this.tables) {
      table.forEach((block, index) => {
        const same = Buffer.compare(this.cache.read(block), this.#content(session, index)) === 0
        expect({ session, index, same }).toEqual({ session, index, same: true })
      })
    }
  }
}

interface Opened {
  memory: Memory
  cache: Cache
  sessions: Sessions
}

function open(memory: Memory, shape: CacheShape, blocks: number): Opened {
  const cache = disposeAfter(new testing.Cache(memory, shape, blocks))
  return { memory, cache, sessions: new Sessions(cache, cache.counts().blockBytes) }
}

/** Blocks of a pool of about `pages` pages, and of a session on it. */
function sizesOf(shape: CacheShape, pages: number): { blocks: number; each: number } {
  const { layers, kvHeads, blockSize, headDim } = shape
  const bytes = layers * 2 * kvHeads * blockSize * headDim * 2
  const blocks = Math.floor((pages * page) / bytes)
  return { blocks, each: Math.max(1, Math.floor(blocks / 24)) }
}

function growShrinkAndCompact(device: DeviceName, shape: CacheShape): void {
  const random = new SeededRandom(7)
  const { blocks, each } = sizesOf(shape, 48)
  const { memory, cache, sessions } = open(openMemory(device), shape, blocks)
  const meter = new DriverMeter(memory, device)
  meter.expect(0)
  while (sessions.create(random.between(1, each)) !== null) continue
  meter.expect(cache.pages().mapped * page)
  const full = cache.pages().mapped
  expect(full).toBeGreaterThan(32)
  sessions.expectExact()

  // Two of three sessions end: what they leave between the others is stuck until these move together.
  for (const session of [...sessions.tables.keys()]) if (session % 3 > 0) sessions.end(session, 5)
  cache.passFence(5)
  cache.trim(0)
  const scattered = cache.pages()
  meter.expect(scattered.mapped * page)
  const moved = sessions.compact()
  cache.trim(0)
  const packed = cache.pages()
  const floor = Math.ceil(1.25 * packed.packed) + 1 // blocks larger than pages leave gaps between them
  expect(packed.mapped).toBeLessThanOrEqual(floor)
  expect(packed.mapped).toBeLessThanOrEqual(scattered.mapped)
  if (scattered.mapped > floor) expect(moved).toBeGreaterThan(0)
  meter.expect(packed.mapped * page)
  sessions.expectExact()
  cache.check()

  while (sessions.create(random.between(1, each)) !== null) continue
  expect(cache.pages().mapped).toBeGreaterThanOrEqual(full - 2)
  sessions.expectExact()
  for (const session of [...sessions.tables.keys()]) sessions.end(session, 0)
  cache.trim(0)
  expect(cache.pages().mapped).toBe(0)
  meter.expect(0)
  cache.check()
  memory.check()
  cache.dispose()
  expect(memory.lines()).toEqual([])
}

export function testKv(device: DeviceName): void {
  test.each(Object.entries(shapes))(
    '%s: grows, shrinks, moves together, bit by bit',
    (_, shape) => {
      growShrinkAndCompact(device, shape)
    },
  )

  test('pages just freed stay mapped and serve the next session without the driver', () => {
    const shape = shapes['many blocks on a page']!
    const { memory, cache, sessions } = open(openMemory(device), shape, 64 * 40)
    const first = sessions.create(64 * 20)!
    const meter = new DriverMeter(memory, device)
    const { mapped } = cache.pages()
    sessions.end(first, 1)
    cache.passFence(1)
    expect(cache.pages()).toMatchObject({ mapped, used: 0 })
    sessions.create(64 * 20)
    expect(cache.pages().mapped).toBe(mapped)
    meter.expect(0)
    sessions.expectExact()
    cache.dispose()
    meter.expect(-mapped * page)
  })

  test('a page refused lowers what can be held, typed and counted, until memory comes back', () => {
    const shape = shapes['many blocks on a page']!
    const { memory, freeBytes } = openNearlyFull(device)
    const { cache, sessions } = open(memory, shape, 64 * 512)
    sessions.create(64)
    const giveBack = fillDevice(memory, device, 256 * MiB)
    expect(sessions.create(64 * 400)).toBeNull()
    const { capacity } = cache.pages()
    expect(capacity).toBeGreaterThanOrEqual(64)
    expect(capacity).toBeLessThan(64 * 400)
    sessions.expectExact()
    cache.check()
    giveBack()
    cache.raiseCapacity(freeBytes())
    expect(cache.pages().capacity).toBe(64 * 512)
    expect(sessions.create(64 * 10)).not.toBeNull()
    sessions.expectExact()
    cache.check()
    cache.dispose()
    memory.check()
  })

  test('when the pages mapped ahead fail, those that are needed are mapped alone', () => {
    const shape = shapes['many blocks on a page']!
    const { memory, cache, sessions } = open(openMemory(device), shape, 64 * 32)
    memory.failAfter(1)
    expect(sessions.create(64)).not.toBeNull()
    expect(cache.pages()).toMatchObject({ mapped: 1, capacity: 64 * 32 })
    expect(sessions.create(64)).not.toBeNull()
    expect(cache.pages().mapped).toBeGreaterThan(2)
    sessions.expectExact()
    cache.check()
    cache.dispose()
    memory.check()
  })

  test('where pages cannot be mapped singly all of it is held from the start, and blocks are as exact', () => {
    testing.allowPageMapping(false)
    try {
      const shape = shapes['blocks that straddle pages']!
      const memory = openMemory(device)
      const meter = new DriverMeter(memory, device)
      const { cache, sessions } = open(memory, shape, sizesOf(shape, 24).blocks)
      meter.expect(24 * page)
      for (const count of [5, 1, 9, 30]) sessions.create(count)
      for (const session of [1, 3]) sessions.end(session, 0)
      sessions.compact()
      cache.trim(0)
      sessions.create(20)
      sessions.expectExact()
      meter.expect(24 * page)
      cache.check()
      cache.dispose()
      meter.expect(0)
    } finally {
      testing.allowPageMapping(true)
    }
  })
}
