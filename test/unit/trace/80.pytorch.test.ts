/** The export for PyTorch's viewer, walked back from its end as that viewer does. */
import { pickle } from '../../../lib/trace/pickle.js'
import { torchSnapshot } from '../../../lib/trace/pytorch.js'
import type { MemorySnapshot, SnapshotEvent } from '../../../lib/trace/snapshot.js'
import { randomSnapshot } from '../../helpers/snapshots.js'
import { unpickle } from '../../helpers/unpickle.js'

interface Block {
  address: number
  size: number
  requested_size: number
  state: string
  frames: { name: string; filename: string; line: number }[]
}

interface Entry {
  action: string
  addr: number
  size: number
  time_us: number
  frames: Block['frames']
  device_free?: number
}

interface Exported {
  segments: {
    address: number
    total_size: number
    allocated_size: number
    active_size: number
    blocks: Block[]
  }[]
  device_traces: Entry[][]
}

const exported = (snapshot: MemorySnapshot): Exported =>
  unpickle(pickle(torchSnapshot(snapshot))) as Exported

interface Piece {
  addr: number
  size: number
}

/** Neighbours become one. */
function joined(pieces: Piece[]): Piece[] {
  const result: Piece[] = []
  for (const { addr, size } of pieces.sort((a, b) => a.addr - b.addr)) {
    const last = result.at(-1)
    if (last !== undefined && last.addr + last.size === addr) last.size += size
    else result.push({ addr, size })
  }
  return result
}

/** Undoes every event; each must find exactly what it did. Returns what there was before the first. */
function walkBack({ segments, device_traces }: Exported): {
  segments: Piece[]
  blocks: Map<number, number>
} {
  const blocks = new Map<number, number>()
  for (const { blocks: own } of segments) {
    for (const { address, size, state } of own) if (state !== 'inactive') blocks.set(address, size)
  }
  let mapped: Piece[] = segments.map(({ address, total_size }) => ({
    addr: address,
    size: total_size,
  }))
  const homes = (piece: Piece): Piece[] =>
    mapped.filter(({ addr, size }) => addr <= piece.addr && piece.addr + piece.size <= addr + size)
  for (const { action, addr, size } of device_traces[0]!.toReversed()) {
    if (action === 'alloc' || action === 'free_requested') expect(blocks.get(addr)).toBe(size)
    if (action === 'alloc') blocks.delete(addr)
    if (action === 'free_completed') expect(blocks.has(addr)).toBe(false)
    if (action === 'free_completed') blocks.set(addr, size)
    if (action === 'segment_alloc') {
      expect(mapped.filter((piece) => piece.addr === addr && piece.size === size)).toHaveLength(1)
      mapped = mapped.filter((piece) => piece.addr !== addr)
    }
    if (action === 'segment_free') mapped.push({ addr, size })
    if (action === 'segment_unmap') mapped = joined([...mapped, { addr, size }])
    if (action === 'segment_map') {
      const [home] = homes({ addr, size })
      expect(home).toBeDefined()
      const rest = [
        { addr: home!.addr, size: addr - home!.addr },
        { addr: addr + size, size: home!.addr + home!.size - addr - size },
      ]
      mapped = [
        ...mapped.filter((piece) => piece !== home),
        ...rest.filter((piece) => piece.size > 0),
      ]
    }
    if (action.startsWith('segment')) continue
    if (blocks.has(addr)) expect(homes({ addr, size: 1 })).toHaveLength(1)
  }
  for (const [addr] of blocks) expect(homes({ addr, size: 1 })).toHaveLength(1)
  return { segments: mapped, blocks }
}

it.each([1, 2, 3, 4, 5])('fits its own end and leads back to nothing (seed %i)', (seed) => {
  const snapshot = randomSnapshot(1500, seed)
  const { segments, blocks } = walkBack(exported(snapshot))
  expect(segments).toEqual([])
  expect([...blocks]).toEqual([])
})

it.each([1, 2, 3, 4, 5])('fits where the ring has lost the beginning (seed %i)', (seed) => {
  const snapshot = randomSnapshot(1500, seed, 700)
  const { segments, blocks } = walkBack(exported(snapshot))
  expect(segments.length).toBeGreaterThan(0)
  expect(blocks.size).toBeGreaterThan(0)
})

it('tiles every segment, and counts it as PyTorch does', () => {
  const { segments } = exported(randomSnapshot(2000))
  for (const { address, total_size, active_size, allocated_size, blocks } of segments) {
    let at = address
    for (const block of blocks) {
      expect(block.address).toBe(at)
      at += block.size
    }
    expect(at).toBe(address + total_size)
    const active = blocks.filter(({ state }) => state !== 'inactive')
    expect(active.reduce((sum, { size }) => sum + size, 0)).toBe(active_size)
    const allocated = blocks.filter(({ state }) => state === 'active_allocated')
    expect(allocated.reduce((sum, { size }) => sum + size, 0)).toBe(allocated_size)
  }
})

it('names the owner as the innermost frame, then the stack', () => {
  const snapshot = randomSnapshot(500)
  const { device_traces } = exported(snapshot)
  const entry = device_traces[0]!.find(({ action }) => action === 'alloc')!
  const event = snapshot.events.find(({ operation }) => operation === 'allocated')!
  expect(entry).toMatchObject({ addr: event.address, size: event.bytes })
  expect(entry.frames.map(({ name }) => name)).toEqual([
    'engine 0 · kv',
    ...snapshot.stacks[event.stack]!.map(
      (frame) => snapshot.frames[frame]!.function ?? 'octavo.node+0x20',
    ),
  ])
  expect(entry.frames.every(({ line, filename }) => line === 0 && filename !== '')).toBe(true)
})

const engine = { kind: 'engine', id: 0 } as const
const base = (events: Partial<SnapshotEvent>[]): MemorySnapshot => {
  const snapshot = randomSnapshot(3)
  const about = {
    region: 'workspace',
    owner: engine,
    tag: 'a',
    stack: 1,
    thread: 1,
    address: null,
  } as const
  return {
    ...snapshot,
    segments: [],
    events: events.map((event, i) => ({
      sequence: i + 1,
      timeNs: i * 1000,
      operation: 'allocated',
      bytes: 512,
      ...about,
      ...event,
    })),
  }
}

it('follows segments that are mapped and unmapped in parts', () => {
  const page = 2 ** 21
  const snapshot = base([
    { operation: 'segmentMapped', address: 4 * page, bytes: 4 * page },
    { address: 4 * page, bytes: page },
    { address: 6 * page, bytes: page },
    { operation: 'freeRequested', address: 4 * page, bytes: page },
    { operation: 'freeCompleted', address: 4 * page, bytes: page },
    { operation: 'segmentUnmapped', address: 4 * page, bytes: 2 * page },
    { operation: 'outOfMemory', bytes: 9 * page },
  ])
  const about = { region: 'workspace', owner: engine, tag: 'a', stack: 1, timeNs: 0 } as const
  const block = { ...about, address: 6 * page, bytes: page, state: 'allocated', count: 1 } as const
  snapshot.segments = [{ ...about, address: 6 * page, bytes: 2 * page, blocks: [block] }]
  const made = exported(snapshot)
  expect(made.device_traces[0]!.map(({ action }) => action)).toEqual([
    ...[
      'segment_map',
      'alloc',
      'alloc',
      'free_requested',
      'free_completed',
      'segment_unmap',
      'oom',
    ],
  ])
  expect(made.device_traces[0]!.at(-1)).toMatchObject({ size: 9 * page, device_free: 9000 })
  expect(made.segments[0]!.blocks.map(({ state }) => state)).toEqual([
    'active_allocated',
    'inactive',
  ])
  expect(walkBack(made)).toEqual({ segments: [], blocks: new Map() })
})

it('begins after the last gap in the trace', () => {
  const snapshot = base([
    { address: 512 },
    { operation: 'levelChanged', bytes: 0 },
    { operation: 'levelChanged', bytes: 2 },
    { operation: 'freeCompleted', address: 1024 },
  ])
  const made = exported(snapshot)
  expect(made.device_traces[0]!.map(({ action }) => action)).toEqual([
    'free_completed',
    'segment_free',
  ])
  expect(walkBack(made).blocks).toEqual(new Map([[1024, 512]]))
})
