/** `addon.testing`: the memory floor by itself. See cpp/binding/testing. */
import type { Fragmentation, MemoryStatistics } from '../../lib/memory-statistics.js'
import type { NativeLedgerLine } from '../../lib/native.js'
import { testing, type Memory, type OwnerKind, type Region } from './native-testing.js'

type Named = [region: Region, kind: OwnerKind, owner: number, tag: string]

/** A ledger without an allocator; lines by number. */
export interface Ledger {
  line(...name: Named): number
  release(line: number): boolean
  add(line: number, bytes: number, count: number): void
  remove(line: number, bytes: number, count: number): void
  transfer(from: number, to: number, bytes: number, fromCount: number, toCount: number): void
  /** Transfers to a line by name and returns it. */
  handOut(
    from: number,
    ...to: [OwnerKind, number, string, bytes: number, fromCount: number, toCount: number]
  ): number
  /** Transfers and releases `line`. */
  handBack(line: number, to: number, bytes: number, fromCount: number, toCount: number): void
  addNamed(...line: [...Named, bytes: number, count: number]): void
  removeNamed(...line: [...Named, bytes: number, count: number]): void
  transferNamed(
    ...move: [
      ...Named,
      toKind: OwnerKind,
      toOwner: number,
      toTag: string,
      bytes: number,
      fromCount: number,
      toCount: number,
    ]
  ): void
  /** Threads that each take away what they put in. */
  hammer(threads: number, rounds: number): void
  lines(): NativeLedgerLine[]
  regionBytes(region: Region): number
  check(): void
}

export interface CachingOptions {
  totalBytes: number
  elastic: boolean
  limitBytes?: number
  maxSplitSize: number
}

export interface CachedBlock {
  address: number
  bytes: number
  requestedBytes: number
  state: 'unmapped' | 'free' | 'allocated' | 'waiting'
  tag: string
}

export interface CachedSegment {
  class: 'small' | 'large' | 'oversize'
  graphPool: number
  mappedPages: number
  blocks: CachedBlock[]
}

/** A stream by its number; null: the host waits. */
export type StreamNumber = number | null

/** A CachingAllocator of region workspace over a device whose streams stand still until they are told to go on. */
export interface Caching {
  stream(): number
  /** Work on a stream; returns how much there was ever. */
  enqueue(stream: number): number
  advance(stream: number, work: number): number
  streamState(stream: number): { enqueued: number; done: number; synchronized: number }
  /** Tells the allocator, then destroys the stream. */
  releaseStream(stream: number): void

  allocate(
    bytes: number,
    stream: StreamNumber,
    ...who: [OwnerKind, number, string]
  ): { id: number; address: number }
  free(id: number, stream: StreamNumber, bytes?: number): void
  freeAddress(address: number): void
  recordStream(id: number | null, stream: number): void
  /** Sets every byte of an allocation. */
  fill(id: number, byte: number): void
  /** Whether every byte of it is `byte`. */
  holds(id: number, byte: number): boolean
  trim(keepBytes: number): number
  /** Threads that allocate and free, each round one of each; how often one wrote into another's block. */
  hammer(threads: number, rounds: number): number

  createGraphPool(): number
  retainGraphPool(pool: number): void
  releaseGraphPool(pool: number): void
  beginCapture(pool: number, stream: number): void
  endCapture(stream: number): void

  setLimit(bytes: number): void
  failAfter(allocations: number): void
  statistics(): MemoryStatistics
  fragmentation(): Fragmentation
  snapshot(): CachedSegment[]
  lines(): NativeLedgerLine[]
  deviceState(): { heldBytes: number; queries: number }
  check(): void
  /** The cache goes; ledger and device stay to be looked at. */
  dispose(): void
}

/** A CachingAllocator of region workspace over a Memory's device and that device's own streams. */
export interface Workspace {
  stream(): number
  releaseStream(stream: number): void
  /** Has not done yet what was enqueued until now. */
  isBusy(stream: number): boolean
  synchronize(stream: number): void
  allocate(bytes: number, stream: StreamNumber, owner: number): { id: number; address: number }
  free(id: number, stream: StreamNumber): void
  recordStream(id: number, stream: number): void
  /** Enqueued, as is `copy`. */
  fill(id: number, byte: number, stream: number): void
  copy(from: number, to: number, stream: number): void
  /** Waits for the stream. */
  read(id: number, stream: number): Uint8Array
  trim(keepBytes: number): number
  statistics(): MemoryStatistics
  check(): void
  /** Waits for its streams; everything goes. */
  dispose(): void
}

export type ResourceLayer =
  | { kind: 'arena' | 'limit'; bytes: number }
  /** Takes so many bytes, and gives them back when it is refused. */
  | { kind: 'retry'; bytes: number }
  | { kind: 'statistics' | 'tracking' }
  | { kind: 'failure'; region: Region }
  | { kind: 'aligned'; alignment: number }

/** Layers over the CPU device's raw memory, the lowest first; calls go to the last. */
export interface Resource {
  allocate(bytes: number, ...who: [OwnerKind, number, string]): number
  deallocate(address: number, bytes: number): void
  setLimit(bytes: number): void
  failAfter(allocations: number, only?: Region): void
  counters(): Record<
    | 'bytes'
    | 'peakBytes'
    | 'totalBytes'
    | 'allocations'
    | 'peakAllocations'
    | 'totalAllocations'
    | 'failures',
    number
  >
  live(): { address: number; bytes: number; ownerKind: OwnerKind; ownerId: number; tag: string }[]
  deviceBytes(): number
  check(): void
  dispose(): void
}

export interface MemoryTesting {
  Resource: new (layers: ResourceLayer[]) => Resource
  Ledger: new () => Ledger
  Caching: new (options: CachingOptions) => Caching
  Workspace: new (memory: Memory) => Workspace
  /** Bytes a second from pinned memory to the device, a figure a round; `pieces` buffers of `pieceBytes` each. */
  linkRates(options: {
    device: string
    pieceBytes: number
    pieces: number
    rounds: number
  }): Float64Array
  /** Nanoseconds a pair of allocation and free, batch by batch; `bytes` 0 is the mix of sizes. */
  allocationCosts(options: {
    device: string
    bytes: number
    live: number
    pairs: number
    batches: number
  }): Record<string, Float64Array>
}

export const memoryTesting = testing as unknown as MemoryTesting

const opened: Caching[] = []

/** A caching allocator; after the test it goes, and nothing may be left. */
export function openCaching(options: Partial<CachingOptions> = {}): Caching {
  const caching = new memoryTesting.Caching({
    ...{ totalBytes: 2 ** 30, elastic: true, maxSplitSize: 0 },
    ...options,
  })
  opened.push(caching)
  return caching
}

afterEach(() => {
  for (const caching of opened.splice(0)) {
    caching.dispose()
    expect(caching.lines()).toEqual([])
    expect(caching.deviceState().heldBytes).toBe(0)
  }
})
