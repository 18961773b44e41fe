/**
 * A snapshot in the shape of torch.cuda.memory._snapshot(), for PyTorch's viewer and torch.cuda._memory_viz.
 * It has no owners: each is the first frame of its stack. It walks the events back from the final state, so
 * that both must fit exactly; what they lack of each other is added here.
 */
import { Pair, type Picklable } from './pickle.js'
import type { ReadSnapshot } from './read.js'
import type { SnapshotBlock, SnapshotEvent, SnapshotOwner, SnapshotSegment } from './snapshot.js'
import { frameText } from './view-data.js'

type Dict = { [key: string]: Picklable }

/** Frame lists, one object for each owner, tag and stack, so that the pickle holds each once. */
class Frames {
  readonly #lists = new Map<string, Dict[]>()
  readonly #frames: Dict[]

  constructor(private readonly snapshot: ReadSnapshot) {
    this.#frames = snapshot.frames.map((frame) => ({
      filename: frame.module,
      line: 0,
      name: frame.function ?? frameText(frame),
    }))
  }

  of(owner: SnapshotOwner | null, tag: string | null, stack: number): Dict[] {
    const name = `${owner === null ? 'nobody' : `${owner.kind} ${owner.id}`} · ${tag ?? ''}`
    const key = `${stack}\n${name}`
    let list = this.#lists.get(key)
    if (list === undefined) {
      const frames = (this.snapshot.stacks[stack] ?? []).map((frame) => this.#frames[frame]!)
      list = [{ filename: 'octavo', line: 0, name }, ...frames]
      this.#lists.set(key, list)
    }
    return list
  }
}

interface Range {
  address: number
  bytes: number
}

const contains = (outer: Range, { address, bytes }: Range): boolean =>
  outer.address <= address && address + bytes <= outer.address + outer.bytes

/** Memory that segment events tell of; allocations elsewhere are segments of their own. */
class Homes {
  readonly #ranges: Range[]

  constructor(events: readonly SnapshotEvent[]) {
    this.#ranges = events
      .filter(({ operation }) => operation === 'segmentMapped' || operation === 'segmentUnmapped')
      .map(({ address, bytes }) => ({ address: address!, bytes }))
      .sort((a, b) => a.address - b.address)
    this.#merge()
  }

  #merge(): void {
    let last = -1
    for (const range of [...this.#ranges]) {
      const before = this.#ranges[last]
      if (before !== undefined && range.address <= before.address + before.bytes) {
        before.bytes = Math.max(before.bytes, range.address + range.bytes - before.address)
      } else {
        this.#ranges[++last] = range
      }
    }
    this.#ranges.length = last + 1
  }

  has(range: Range): boolean {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#ranges[middle]!.address <= range.address) low = middle + 1
      else high = middle
    }
    const home = this.#ranges[low - 1]
    return home !== undefined && contains(home, range)
  }
}

const actions: Partial<Record<SnapshotEvent['operation'], string>> = {
  allocated: 'alloc',
  freeRequested: 'free_requested',
  freeCompleted: 'free_completed',
  segmentMapped: 'segment_map',
  segmentUnmapped: 'segment_unmap',
  outOfMemory: 'oom',
  snapshot: 'snapshot',
}

/** What was recorded before a gap (level 0) cannot be walked through. */
function sinceGap(events: readonly SnapshotEvent[]): readonly SnapshotEvent[] {
  const gap = events.findLastIndex(
    ({ operation, bytes }) => operation === 'levelChanged' && bytes === 0,
  )
  return events.slice(gap + 1)
}

class Trace {
  readonly entries: Dict[] = []
  /** Allocations of the trace that are live at its end, by address. */
  readonly live = new Map<number, Range>()
  /** Segments that the trace makes, by address. */
  readonly made = new Set<number>()

  constructor(
    private readonly frames: Frames,
    readonly homes: Homes,
    private readonly deviceFree: number,
  ) {}

  add(action: string, { address, bytes }: Range, timeNs: number, frames: Dict[]): void {
    const time = Math.floor(timeNs / 1000)
    const entry: Dict = { action, addr: address, size: bytes, stream: 0, time_us: time, frames }
    if (action === 'oom') entry['device_free'] = this.deviceFree
    this.entries.push(entry)
  }

  event(event: SnapshotEvent, known: ReadonlySet<number>): void {
    const action = actions[event.operation]
    if (action === undefined) return
    const range = { address: event.address ?? 0, bytes: event.bytes }
    const frames = this.frames.of(event.owner, event.tag, event.stack)
    const alone = action !== 'snapshot' && action !== 'oom' && !this.homes.has(range)
    if (action === 'alloc') {
      if (alone) this.add('segment_alloc', range, event.timeNs, frames)
      if (alone) this.made.add(range.address)
      this.live.set(range.address, range)
    }
    // A free that is requested and never completed leaves a block in the final state, or its trace is cut.
    if (action === 'free_requested' && !known.has(event.sequence)) return
    this.add(action, range, event.timeNs, frames)
    if (action !== 'free_completed') return
    this.live.delete(range.address)
    if (alone) this.add('segment_free', range, event.timeNs, frames)
  }
}

/** Sequences of the free requests whose block is freed later, or pending in the final state. */
function answeredRequests(
  events: readonly SnapshotEvent[],
  segments: readonly SnapshotSegment[],
): Set<number> {
  const pending = segments
    .flatMap(({ blocks }) => blocks)
    .filter(({ state }) => state === 'freeRequested')
    .map(({ address }) => address)
  const freed = new Set(pending)
  const answered = new Set<number>()
  for (let i = events.length - 1; i >= 0; i--) {
    const { operation, address, sequence } = events[i]!
    if (operation === 'freeCompleted') freed.add(address!)
    else if (operation === 'freeRequested' && freed.delete(address!)) answered.add(sequence)
  }
  return answered
}

/**
 * The end: allocations that the final state shows in pieces (the KV cache, as its blocks) make way for them, and
 * blocks that the trace lacks appear, where the trace made their segment.
 */
function settle(trace: Trace, { segments, timeNs }: ReadSnapshot, frames: Frames): void {
  const blocks = new Map(
    segments.flatMap((segment) => segment.blocks).map((block) => [block.address, block]),
  )
  const starts = new Set(segments.map(({ address }) => address))
  for (const live of trace.live.values()) {
    if (blocks.get(live.address)?.bytes === live.bytes) continue
    const unknown = frames.of(null, 'divided', 0)
    trace.add('free_requested', live, timeNs, unknown)
    trace.add('free_completed', live, timeNs, unknown)
    trace.live.delete(live.address)
    const isGone = trace.made.has(live.address) && !starts.has(live.address)
    if (isGone) trace.add('segment_free', live, timeNs, unknown)
  }
  for (const segment of segments) {
    if (!trace.made.has(segment.address) && !trace.homes.has(segment)) continue
    for (const block of segment.blocks) {
      if (trace.live.has(block.address)) continue
      trace.add('alloc', block, timeNs, frames.of(block.owner, block.tag, block.stack))
    }
  }
}

function torchBlock(
  { address, bytes, state, owner, tag, stack }: SnapshotBlock,
  frames: Frames,
): Dict {
  const name = state === 'freeRequested' ? 'active_pending_free' : 'active_allocated'
  return {
    address,
    size: bytes,
    requested_size: bytes,
    state: name,
    frames: frames.of(owner, tag, stack),
  }
}

/** Blocks end to end, as the viewer adds their sizes up: what lies between them is inactive. */
function tiled(segment: SnapshotSegment, frames: Frames): Dict[] {
  const tiles: Dict[] = []
  let at = segment.address
  const gap = (to: number): void => {
    if (to <= at) return
    tiles.push({ address: at, size: to - at, requested_size: 0, state: 'inactive', frames: [] })
  }
  for (const block of segment.blocks) {
    gap(block.address)
    tiles.push(torchBlock(block, frames))
    at = block.address + block.bytes
  }
  gap(segment.address + segment.bytes)
  return tiles
}

function torchSegment(segment: SnapshotSegment, frames: Frames): Dict {
  const sizeOf = (state: string): number =>
    segment.blocks.reduce(
      (sum, block) => sum + (state === 'all' || block.state !== state ? block.bytes : 0),
      0,
    )
  return {
    device: 0,
    address: segment.address,
    total_size: segment.bytes,
    allocated_size: sizeOf('freeRequested'),
    active_size: sizeOf('all'),
    requested_size: sizeOf('all'),
    stream: 0,
    segment_type: segment.bytes > 2 ** 20 ? 'large' : 'small',
    segment_pool_id: new Pair(0, 0),
    is_expandable: false,
    frames: frames.of(segment.owner, segment.tag, segment.stack),
    blocks: tiled(segment, frames),
  }
}

/** Ready for `pickle`. Transfers and ends of owners have no counterpart there and are left out. */
export function torchSnapshot(snapshot: ReadSnapshot): Dict {
  const { segments } = snapshot
  const frames = new Frames(snapshot)
  const events = sinceGap(snapshot.events)
  const trace = new Trace(frames, new Homes(events), snapshot.statistics?.driver.freeBytes ?? 0)
  const answered = answeredRequests(events, segments)
  for (const event of events) trace.event(event, answered)
  settle(trace, snapshot, frames)
  return {
    segments: segments.map((segment) => torchSegment(segment, frames)),
    device_traces: [trace.entries],
    allocator_settings: {},
    external_annotations: [],
  }
}
