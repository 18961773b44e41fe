/** A snapshot as the viewer page takes it: names once, events as columns of indices. */
import type { ReadSnapshot } from './read.js'
import type { SnapshotBlock, SnapshotOwner } from './snapshot.js'

/** Numbers in place of names: `names.indexOf` in O(1). */
class NameList {
  readonly names: string[] = []
  readonly #indices = new Map<string, number>()

  index(name: string): number {
    let index = this.#indices.get(name)
    if (index === undefined) {
      index = this.names.push(name) - 1
      this.#indices.set(name, index)
    }
    return index
  }
}

export interface ViewSegment {
  address: number
  bytes: number
  region: number
  owner: number
  tag: number
  stack: number
  /** [address, bytes, state, owner or -1, tag, count, stack] */
  blocks: number[][]
}

/** Everything in the page. Columns have one element an event, oldest first. */
export interface ViewData {
  title: string
  device: string
  takenAt: string
  level: number | null
  /** Sentences on what the page does not show. */
  notes: string[]
  regions: string[]
  owners: string[]
  tags: string[]
  operations: string[]
  states: string[]
  threads: number[]
  frames: string[]
  stacks: number[][]
  /** Region names with allocated, peak and limit (null: none) bytes. */
  statistics: { region: string; allocated: number; peak: number; limit: number | null }[]
  segments: ViewSegment[]
  /** [region, owner, tag, bytes, peak, count, stack] */
  holdings: number[][]
  /** The moment of the snapshot, nanoseconds after the first event; events before it count from there too. */
  endNs: number
  events: {
    time: number[]
    operation: number[]
    region: number[]
    /** -1: none */
    address: number[]
    bytes: number[]
    owner: number[]
    tag: number[]
    /** -1: none */
    from: number[]
    fromTag: number[]
    stack: number[]
    thread: number[]
    firstSequence: number
  }
}

const nameOf = ({ kind, id }: SnapshotOwner): string =>
  kind === 'engine' && id === 0 ? kind : `${kind} ${id}`

/** Events are kept from the newest back. */
export const mostViewedEvents = 200_000

interface Names {
  regions: NameList
  owners: NameList
  tags: NameList
  operations: NameList
  states: NameList
}

function viewSegments({ segments }: ReadSnapshot, names: Names): ViewSegment[] {
  const block = ({ address, bytes, state, owner, tag, count, stack }: SnapshotBlock): number[] => [
    address,
    bytes,
    names.states.index(state),
    owner === null ? -1 : names.owners.index(nameOf(owner)),
    names.tags.index(tag ?? ''),
    count,
    stack,
  ]
  return segments.map(({ address, bytes, region, owner, tag, stack, blocks }) => ({
    address,
    bytes,
    region: names.regions.index(region),
    owner: names.owners.index(nameOf(owner)),
    tag: names.tags.index(tag),
    stack,
    blocks: blocks.map(block),
  }))
}

function viewEvents(
  all: ReadSnapshot['events'],
  names: Names,
  threads: number[],
): ViewData['events'] {
  const start = all[0]?.timeNs ?? 0
  const known = new Map<number, number>()
  const thread = (id: number): number => {
    if (!known.has(id)) known.set(id, threads.push(id) - 1)
    return known.get(id)!
  }
  return {
    time: all.map(({ timeNs }) => timeNs - start),
    operation: all.map(({ operation }) => names.operations.index(operation)),
    region: all.map(({ region }) => names.regions.index(region)),
    address: all.map(({ address }) => address ?? -1),
    bytes: all.map(({ bytes }) => bytes),
    owner: all.map(({ owner }) => names.owners.index(nameOf(owner))),
    tag: all.map(({ tag }) => names.tags.index(tag ?? '')),
    from: all.map(({ from }) => (from === undefined ? -1 : names.owners.index(nameOf(from)))),
    fromTag: all.map(({ fromTag }) => (fromTag === undefined ? -1 : names.tags.index(fromTag))),
    stack: all.map(({ stack }) => stack),
    thread: all.map((event) => thread(event.thread)),
    firstSequence: all[0]?.sequence ?? 0,
  }
}

function notesOf({ trace, statistics, segments, events }: ReadSnapshot, shown: number): string[] {
  const notes: string[] = []
  if (trace === null)
    notes.push('Made of a spill file: events and stacks alone; bytes count from its first line.')
  if (trace?.level === 0 && events.length === 0)
    notes.push('Nothing was traced: only the statistics and the KV blocks are known.')
  if (trace?.level === 1)
    notes.push('Sampled (level 1): the timeline moves with the sampled allocations alone.')
  const missing = trace?.overwritten ?? 0
  if (missing > 0) notes.push(`${missing} older events were overwritten in the ring.`)
  if (shown < events.length)
    notes.push(`Of ${events.length} events the page holds the newest ${shown}.`)
  if (statistics !== null) {
    const held = Object.values(statistics.regions).reduce(
      (sum, { allocatedBytes }) => sum + allocatedBytes,
      0,
    )
    const known = segments.reduce((sum, { bytes }) => sum + bytes, 0)
    if (held > known)
      notes.push(`${held - known} bytes are held that were allocated while they were not traced.`)
  }
  if (trace?.spill?.problem) notes.push(trace.spill.problem)
  return notes
}

export function frameText({
  function: name,
  module,
  offset,
}: ReadSnapshot['frames'][number]): string {
  const file = module.slice(module.lastIndexOf('/') + 1)
  const place = `${file}+0x${offset.toString(16)}`
  return name === null ? place : `${name}  (${place})`
}

/** `title` names the page. */
export function viewData(
  snapshot: ReadSnapshot,
  title: string,
  mostEvents = mostViewedEvents,
): ViewData {
  const names: Names = {
    regions: new NameList(),
    owners: new NameList(),
    tags: new NameList(),
    operations: new NameList(),
    states: new NameList(),
  }
  const threads: number[] = []
  const shown = snapshot.events.slice(-mostEvents)
  const start = shown[0]?.timeNs ?? snapshot.timeNs
  const regions = Object.entries(snapshot.statistics?.regions ?? {})
  for (const [region] of regions) names.regions.index(region)
  const holdings = snapshot.owners.map(({ region, owner, tag, bytes, peakBytes, count, stack }) => [
    names.regions.index(region),
    names.owners.index(nameOf(owner)),
    names.tags.index(tag),
    bytes,
    peakBytes,
    count,
    stack,
  ])
  const segments = viewSegments(snapshot, names)
  const events = viewEvents(shown, names, threads)
  return {
    title,
    device: snapshot.device,
    takenAt: snapshot.takenAt,
    level: snapshot.trace?.level ?? null,
    notes: notesOf(snapshot, shown.length),
    regions: names.regions.names,
    owners: names.owners.names,
    tags: names.tags.names,
    operations: names.operations.names,
    states: names.states.names,
    threads,
    frames: snapshot.frames.map(frameText),
    stacks: snapshot.stacks,
    statistics: regions.map(([region, { allocatedBytes, allocatedPeakBytes, limitBytes }]) => ({
      region,
      allocated: allocatedBytes,
      peak: allocatedPeakBytes,
      limit: limitBytes,
    })),
    segments,
    holdings,
    endNs: Math.max(0, snapshot.timeNs - start),
    events,
  }
}
