/** Memory snapshots made by hand: a small one, and random ones of any length, all of them consistent. */
import type {
  MemorySnapshot,
  SnapshotBlock,
  SnapshotEvent,
  SnapshotOwner,
  SnapshotSegment,
} from '../../lib/trace/snapshot.js'
import { SeededRandom } from './seeded-random.js'

const engine: SnapshotOwner = { kind: 'engine', id: 0 }
const session = (id: number): SnapshotOwner => ({ kind: 'session', id })
const pageBytes = 2 ** 21
const kvBytes = 64 * 1024

interface Live {
  address: number
  bytes: number
  owner: SnapshotOwner
  pending: boolean
  timeNs: number
}

/** Plays an allocator and a KV pool, and writes down what a trace would. */
class Player {
  readonly events: SnapshotEvent[] = []
  readonly live = new Map<number, Live>()
  readonly held = new Map<number, number>()
  free: number
  #time = 1_000_000

  constructor(
    readonly random: SeededRandom,
    readonly kvBlocks: number,
  ) {
    this.free = kvBlocks
  }

  record(event: Partial<SnapshotEvent>): void {
    this.#time += this.random.between(1, 20_000)
    this.events.push({
      sequence: this.events.length + 1,
      timeNs: this.#time,
      operation: 'allocated',
      region: 'workspace',
      address: null,
      bytes: 0,
      owner: engine,
      tag: null,
      stack: this.random.between(0, 2),
      thread: 100 + this.random.between(0, 3),
      ...event,
    })
  }

  get now(): number {
    return this.#time
  }

  allocate(): void {
    const address = 0x7f0000000000 + this.random.between(0, 200) * pageBytes
    if (this.live.has(address)) return
    const bytes = this.random.between(1, 4096) * 512
    const owner = session(this.random.between(1, 30))
    this.record({ address, bytes, owner, tag: 'scratch' })
    this.live.set(address, { address, bytes, owner, pending: false, timeNs: this.now })
  }

  release(): void {
    const all = [...this.live.values()]
    const one = all[this.random.between(0, all.length - 1)]
    if (one === undefined) return
    const { address, bytes, owner, pending } = one
    const about = { address, bytes, owner, tag: 'scratch' }
    if (!pending) this.record({ ...about, operation: 'freeRequested' })
    one.pending = true
    if (this.random.between(0, 3) === 0) return
    this.record({ ...about, operation: 'freeCompleted' })
    this.live.delete(address)
  }

  moveBlocks(): void {
    const id = this.random.between(1, 30)
    const held = this.held.get(id) ?? 0
    const taking = held === 0 || this.random.between(0, 2) > 0
    const count = taking ? Math.min(this.free, this.random.between(1, 4)) : held
    if (count === 0) return
    const [from, to] = taking ? [engine, session(id)] : [session(id), engine]
    const [fromTag, tag] = taking ? ['kv.free', 'kv.blocks'] : ['kv.blocks', 'kv.free']
    const bytes = count * kvBytes
    this.record({ operation: 'transferred', region: 'kv', bytes, owner: to, from, fromTag, tag })
    this.free -= taking ? count : -count
    this.held.set(id, taking ? held + count : 0)
  }
}

function kvSegment({ held, free }: Player, kvAddress: number, kvBlocks: number): SnapshotSegment {
  const blocks: SnapshotBlock[] = []
  let address = kvAddress
  const add = (owner: SnapshotOwner | null, count: number): void => {
    if (count === 0) return
    const state = owner === null ? 'free' : 'owned'
    const tag = owner === null ? 'kv.free' : 'kv.blocks'
    const bytes = count * kvBytes
    blocks.push({ address, bytes, state, owner, tag, count, stack: 0, timeNs: 0 })
    address += bytes
  }
  for (const [id, count] of held) add(session(id), count)
  add(null, free)
  const bytes = kvBlocks * kvBytes
  return {
    address: kvAddress,
    bytes,
    region: 'kv',
    owner: engine,
    tag: 'kv',
    stack: 1,
    timeNs: 0,
    blocks,
  }
}

function segmentOf({ address, bytes, owner, pending, timeNs }: Live): SnapshotSegment {
  const state = pending ? 'freeRequested' : 'allocated'
  const about = { address, bytes, owner, tag: 'scratch', stack: 1, timeNs }
  return { ...about, region: 'workspace', blocks: [{ ...about, state, count: 1 }] }
}

/** `events` of them at least; the ring has lost those before `lost`. */
export function randomSnapshot(events: number, seed = 1, lost = 0): MemorySnapshot {
  const kvBlocks = 500
  const kvAddress = 0x7e0000000000
  const player = new Player(new SeededRandom(seed), kvBlocks)
  player.record({ operation: 'levelChanged', bytes: 2 })
  player.record({ region: 'kv', address: kvAddress, bytes: kvBlocks * kvBytes, tag: 'kv' })
  const about = { operation: 'transferred', region: 'kv', bytes: kvBlocks * kvBytes } as const
  player.record({ ...about, from: engine, fromTag: 'kv', tag: 'kv.free' })
  const moves = [() => player.allocate(), () => player.release(), () => player.moveBlocks()]
  while (player.events.length < events) moves[player.random.between(0, 2)]!()
  const segments = [
    kvSegment(player, kvAddress, kvBlocks),
    ...[...player.live.values()].map(segmentOf),
  ]
  segments.sort((a, b) => a.address - b.address)
  const owners = new Map<string, MemorySnapshot['owners'][0]>()
  const hold = (
    region: 'kv' | 'workspace',
    owner: SnapshotOwner,
    tag: string,
    bytes: number,
  ): void => {
    const key = `${region} ${owner.kind} ${owner.id} ${tag}`
    const line = owners.get(key) ?? {
      region,
      owner,
      tag,
      bytes: 0,
      peakBytes: 0,
      count: 0,
      stack: 1,
      timeNs: 0,
    }
    const sum = line.bytes + bytes
    if (bytes > 0) owners.set(key, { ...line, bytes: sum, peakBytes: sum, count: line.count + 1 })
  }
  hold('kv', engine, 'kv.free', player.free * kvBytes)
  for (const [id, count] of player.held) hold('kv', session(id), 'kv.blocks', count * kvBytes)
  for (const { owner, bytes } of player.live.values()) hold('workspace', owner, 'scratch', bytes)
  return assemble(player, segments, [...owners.values()], lost)
}

function assemble(
  player: Player,
  segments: SnapshotSegment[],
  owners: MemorySnapshot['owners'],
  lost: number,
): MemorySnapshot {
  const bytesOf = (region: string): number =>
    segments
      .filter((segment) => segment.region === region)
      .reduce((sum, { bytes }) => sum + bytes, 0)
  const region = (name: string): MemorySnapshot['statistics']['regions']['kv'] => {
    const allocatedBytes = bytesOf(name)
    const counters = { allocations: 1, frees: 0, failures: 0 }
    return { limitBytes: null, allocatedBytes, allocatedPeakBytes: allocatedBytes, ...counters }
  }
  const names = ['weights', 'kv', 'graph', 'workspace', 'pinned'] as const
  const regions = Object.fromEntries(names.map((name) => [name, region(name)]))
  const events = player.events.slice(lost)
  return {
    format: 'octavo-memory-snapshot',
    version: 1,
    device: 'cpu',
    takenAt: '2026-11-29T12:00:00.000Z',
    timeNs: player.now + 5000,
    trace: {
      level: 2,
      ringEvents: events.length,
      sampleBytes: 2 ** 20,
      recorded: player.events.length,
      overwritten: lost,
      dropped: 0,
      stacksDropped: 0,
      spill: null,
    },
    statistics: {
      device: 'cpu',
      regions,
      driver: { freeBytes: 9000, totalBytes: 10_000, processBytes: null },
    } as unknown as MemorySnapshot['statistics'],
    segments,
    owners,
    stacks: [[], [0, 1], [2]],
    frames: [
      { function: 'pool::take(int)', module: '/usr/lib/octavo.node', offset: 16 },
      { function: null, module: '/usr/lib/octavo.node', offset: 32 },
      { function: 'main </script><b>', module: '/usr/bin/node', offset: 48 },
    ],
    events,
  }
}
