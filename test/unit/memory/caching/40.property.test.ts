/** Random programs over several streams against a model that knows what may be handed out. */
import { openCaching, type Caching, type StreamNumber } from '../../../helpers/memory-testing.js'
import { SeededRandom } from '../../../helpers/seeded-random.js'

const MiB = 2 ** 20

interface Live {
  id: number
  address: number
  bytes: number
  stream: StreamNumber
  users: Set<number>
  poison: number
}

/** Bytes that were given back, and what must have happened before anybody else may have them. */
interface Past {
  from: number
  to: number
  stream: StreamNumber
  /** work of other streams that must be done, by stream */
  awaits: Map<number, number>
  /** work of its own stream that must be done before another stream has it */
  ownWork: number
}

const rounded = (bytes: number): number => Math.ceil(bytes / 512) * 512

class Model {
  readonly live: Live[] = []
  readonly past: Past[] = []
  readonly enqueued = new Map<number, number>()

  constructor(
    readonly caching: Caching,
    readonly random: SeededRandom,
    readonly streams: StreamNumber[],
  ) {}

  /** What is handed out overlaps nothing live, and nothing that another stream may still touch. */
  private requireReusable(address: number, bytes: number, stream: StreamNumber): void {
    for (const block of this.live) {
      const apart = address + bytes <= block.address || block.address + block.bytes <= address
      if (!apart) throw new Error(`${bytes} bytes at ${address} overlap live ${block.bytes}`)
    }
    for (const past of this.past) {
      if (address + bytes <= past.from || past.to <= address) continue
      for (const [user, work] of past.awaits) {
        const { done } = this.caching.streamState(user)
        if (done < work) throw new Error(`stream ${user} still uses the block: ${done} < ${work}`)
      }
      if (past.stream === stream || past.stream === null) continue
      // It came over the device: the stream that owned it was waited for.
      const { done } = this.caching.streamState(past.stream)
      if (done < past.ownWork) throw new Error(`memory of stream ${past.stream} moved too early`)
    }
  }

  allocate(bytes: number): void {
    const stream = this.random.pick(this.streams)
    let made: { id: number; address: number }
    try {
      made = this.caching.allocate(bytes, stream, 'session', this.random.between(0, 3), 'x')
    } catch (error) {
      if ((error as { code: string }).code !== 'OCTAVO_OUT_OF_MEMORY') throw error
      return
    }
    const { id, address } = made
    if (address % 512 !== 0) throw new Error(`${address} is not aligned`)
    this.requireReusable(address, rounded(bytes), stream)
    const poison = this.random.between(1, 255)
    this.caching.fill(id, poison)
    this.live.push({ id, address, bytes: rounded(bytes), stream, users: new Set(), poison })
  }

  free(): void {
    const index = this.random.between(0, this.live.length - 1)
    const [block] = this.live.splice(index, 1)
    if (block === undefined) return
    if (!this.caching.holds(block.id, block.poison)) throw new Error('a block was written over')
    const on = this.random.next() < 0.7 ? block.stream : this.random.pick(this.streams)
    const awaits = new Map<number, number>()
    for (const user of [...block.users, on]) {
      if (user !== null && user !== block.stream) awaits.set(user, this.enqueued.get(user) ?? 0)
    }
    const past = { from: block.address, to: block.address + block.bytes, stream: block.stream }
    const ownWork = block.stream === null ? 0 : (this.enqueued.get(block.stream) ?? 0)
    this.past.push({ ...past, awaits, ownWork })
    this.caching.free(block.id, on)
  }

  use(): void {
    if (this.live.length === 0) return
    const block = this.random.pick(this.live)
    const stream = this.random.pick(this.streams)
    if (stream === null) return
    this.caching.recordStream(block.id, stream)
    block.users.add(stream)
  }

  work(): void {
    const stream = this.random.pick(this.streams)
    if (stream === null) return
    this.enqueued.set(stream, this.caching.enqueue(stream))
    if (this.random.next() < 0.5) this.caching.advance(stream, this.random.between(0, 3))
  }

  step(): void {
    const action = this.random.next()
    const size = Math.floor(2 ** (9 + 13 * this.random.next()))
    if (action < 0.4) this.allocate(size)
    else if (action < 0.75) this.free()
    else if (action < 0.85) this.use()
    else if (action < 0.98) this.work()
    else this.caching.trim(this.random.between(0, 16) * MiB)
  }

  /** The ledger's lines and the statistics, from what is live. */
  agree(): void {
    const bytes = this.live.reduce((sum, block) => sum + block.bytes, 0)
    const { allocation, allocated_bytes, reserved_bytes } = this.caching.statistics()
    expect([allocation.all.current, allocated_bytes.all.current]).toEqual([this.live.length, bytes])
    const lines = this.caching.lines()
    const sessions = lines.filter(({ ownerKind }) => ownerKind === 'session')
    expect(sessions.reduce((sum, line) => sum + line.count, 0)).toBe(this.live.length)
    expect(sessions.reduce((sum, line) => sum + line.bytes, 0)).toBe(bytes)
    expect(lines.reduce((sum, line) => sum + line.bytes, 0)).toBe(reserved_bytes.all.current)
    expect(this.caching.deviceState().heldBytes).toBe(reserved_bytes.all.current)
    this.caching.check()
  }
}

const variants: [name: string, options: Parameters<typeof openCaching>[0], streams: number][] = [
  ['one stream', {}, 1],
  ['three streams', {}, 3],
  ['three streams under a limit', { limitBytes: 24 * MiB }, 3],
  ['a device of 24 MiB', { totalBytes: 24 * MiB }, 2],
  ['no page by page', { elastic: false, limitBytes: 128 * MiB }, 2],
  ['a maxSplitSize', { maxSplitSize: 2 * MiB }, 2],
]

describe.each(variants)('%s', (_, options, count) => {
  test.each([1, 2, 3])('agrees with a model (seed %i)', (seed) => {
    const caching = openCaching(options)
    const streams = [null, ...Array.from({ length: count }, () => caching.stream())]
    const model = new Model(caching, new SeededRandom(seed), streams)
    for (let step = 0; step < 1200; step++) {
      model.step()
      if (step % 20 === 0) caching.check()
    }
    if (options?.maxSplitSize === undefined) model.agree()
    while (model.live.length > 0) model.free()
    for (const stream of streams) if (stream !== null) caching.advance(stream, 10_000)
    caching.trim(0)
    caching.check()
    expect(caching.lines()).toEqual([])
    expect(caching.deviceState().heldBytes).toBe(0)
  })
})
