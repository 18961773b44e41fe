/** Segments and the blocks in them, from what the trace and the KV pool know. */
import type {
  NativeAllocation,
  NativeBlockRun,
  NativeSegment,
  NativeSnapshot,
} from '../native-trace.js'
import type { SnapshotBlock, SnapshotSegment } from './snapshot.js'

interface Piece {
  address: number
  bytes: number
}

const endOf = ({ address, bytes }: Piece): number => address + bytes

type Tags = readonly string[]

function segmentOf(native: NativeSegment, tags: Tags): SnapshotSegment {
  const { address, bytes, region, stack, timeNs } = native
  const owner = { kind: native.ownerKind, id: native.ownerId }
  return { address, bytes, region, owner, tag: tags[native.tag] ?? '', stack, timeNs, blocks: [] }
}

function blockOf(native: NativeAllocation, tags: Tags): SnapshotBlock {
  const { address, bytes, stack, timeNs } = native
  return {
    address,
    bytes,
    state: native.freeRequested ? 'freeRequested' : 'allocated',
    owner: { kind: native.ownerKind, id: native.ownerId },
    tag: tags[native.tag] ?? null,
    count: 1,
    stack,
    timeNs,
  }
}

/** The KV blocks that lie in `segment`, cut at its ends; the rest of it stays as it was. */
function withKvBlocks(
  segment: SnapshotSegment,
  kvAddress: number,
  blockBytes: number,
  runs: readonly NativeBlockRun[],
): SnapshotBlock[] {
  const blocks: SnapshotBlock[] = []
  for (const { first, count, state, ownerKind, ownerId } of runs) {
    const start = kvAddress + first * blockBytes
    const address = Math.max(segment.address, start)
    const bytes = Math.min(endOf(segment), start + count * blockBytes) - address
    if (bytes <= 0) continue
    const startsBefore = (end: number): number =>
      Math.min(count, Math.ceil((end - start) / blockBytes))
    const owner = state === 'free' ? null : { kind: ownerKind, id: ownerId }
    const tag = `kv.${state === 'owned' ? 'blocks' : state}`
    blocks.push({
      address,
      bytes,
      state,
      owner,
      tag,
      count: startsBefore(address + bytes) - startsBefore(address),
      stack: 0,
      timeNs: 0,
    })
  }
  const covered = blocks.at(-1)
  if (covered === undefined) return segment.blocks
  const { owner, tag, stack, timeNs } = segment
  const rest = endOf(segment) - endOf(covered)
  if (rest > 0) {
    const address = endOf(covered)
    blocks.push({ address, bytes: rest, state: 'allocated', owner, tag, count: 1, stack, timeNs })
  }
  return blocks
}

/** The pages of the KV cache, where none of them was traced. */
function untracedKv({ kvPages }: NativeSnapshot, known: SnapshotSegment[]): SnapshotSegment[] {
  if (known.some(({ region }) => region === 'kv')) return []
  const owner = { kind: 'engine', id: 0 } as const
  const about = { region: 'kv', owner, tag: 'kv.padding', stack: 0, timeNs: 0 } as const
  return kvPages.map((pages) => ({ ...pages, ...about, blocks: [] }))
}

/** By address. An allocation outside every mapped segment is a segment of its own. */
export function buildSegments(native: NativeSnapshot): SnapshotSegment[] {
  const { trace, report, kvAddress, kvBlocks } = native
  const segments = trace.segments.map((segment) => segmentOf(segment, trace.tags))
  const alone: SnapshotSegment[] = []
  let at = 0
  for (const allocation of trace.allocations) {
    while (at < segments.length && endOf(segments[at]!) <= allocation.address) at++
    let home = segments[at]
    if (home === undefined || home.address > allocation.address) {
      home = segmentOf(allocation, trace.tags)
      alone.push(home)
    }
    home.blocks.push(blockOf(allocation, trace.tags))
  }
  const all = [...segments, ...alone]
  all.push(...untracedKv(native, all))
  all.sort((a, b) => a.address - b.address)
  for (const segment of all) {
    segment.blocks = withKvBlocks(segment, kvAddress, report.blockBytes, kvBlocks)
  }
  return all
}
