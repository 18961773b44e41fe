/** `addon.testing`: the memory, kv and model floors as handles. See cpp/binding/testing. */
import { join } from 'node:path'
import type { Fragmentation, MemoryStatistics } from '../../lib/memory-statistics.js'
import type {
  NativeDType,
  NativeLedgerLine,
  NativeModelSpec,
  NativeWeightManifest,
} from '../../lib/native.js'
import type { NativeLeakReport, NativeTrace, NativeTraceOptions } from '../../lib/native-trace.js'
import { expectNothingLive } from './nothing-live.js'

export type Region = NativeLedgerLine['region']
export type OwnerKind = NativeLedgerLine['ownerKind']

export interface RegionFigures {
  allocatedBytes: number
  allocatedPeakBytes: number
  allocations: number
  frees: number
  failures: number
  /** The ledger's figures of the same region. */
  regionBytes: number
  regionPeakBytes: number
  /** What the device says it has handed out, over all regions but pinned. */
  deviceBytes: number
}

/** A DeviceAllocator over a device of its own. */
export interface Memory {
  /** Returns the number to free it by. */
  allocate(region: Region, bytes: number, kind: OwnerKind, owner: number, tag: string): number
  free(allocation: number): boolean
  setLimit(region: Region, bytes: number): void
  failAfter(allocations: number): void
  /** Buffers of region pinned that are freed stay, at most so many bytes of them. */
  keepPinned(mostBytes: number): void
  /** Gives kept ones back until so many bytes are left; returns how many went. */
  trimPinned(mostBytes: number): number
  pinnedKept(): { bytes: number; buffers: number; reuses: number }
  memoryStatistics(region: Region): { statistics: MemoryStatistics; fragmentation: Fragmentation }
  transfer(
    region: Region,
    ...pair: [OwnerKind, number, string, OwnerKind, number, string, number, number]
  ): void
  /** Takes bytes off a ledger line behind the allocator's back. */
  remove(region: Region, ...line: [OwnerKind, number, string, number, number]): void
  lines(): NativeLedgerLine[]
  statistics(region: Region): RegionFigures
  ownerBytes(kind: OwnerKind, owner: number): number
  check(): void
  dispose(): void
}

export interface PageOptions {
  /** Addresses of the device; counted ones that hold nothing, for `room` pages at once; or one raw allocation. */
  kind: 'device' | 'accounted' | 'whole'
  region: Region
  tag: string
  pages: number
  room?: number
}

/** A PageRange of the engine's. */
export interface Pages {
  map(first: number, count: number): void
  unmap(first: number, count: number): void
  counts(): { pages: number; mapped: number; elastic: boolean; alignment: number }
  write(offset: number, bytes: Uint8Array): void
  read(offset: number, bytes: number): Uint8Array
  check(): void
  dispose(): void
}

export interface CacheShape {
  dtype: NativeDType
  layers: number
  kvHeads: number
  blockSize: number
  headDim: number
}

/** A KvCache and its pool. */
export interface Cache {
  take(kind: OwnerKind, owner: number, count: number): number[] | null
  release(kind: OwnerKind, owner: number, blocks: number[], fence: number): void
  passFence(step: number): void
  counts(): { total: number; free: number; owned: number; inFlight: number; blockBytes: number }
  /** A whole block, through the device. */
  write(block: number, bytes: Uint8Array): void
  read(block: number): Uint8Array
  /** One slice, the copies too: owner, from, to, owner … */
  compact(): number[]
  /** Gives cached pages back until `keep` are left, once the copies out of them were done; returns how many went. */
  trim(keep: number): number
  pages(): { mapped: number; used: number; packed: number; capacity: number }
  /** After the device refused a page: it has so many bytes free again. */
  raiseCapacity(freeBytes: number): void
  ownedBy(kind: OwnerKind, owner: number): number
  check(): void
  dispose(): void
}

/** Where bytes are, and whose: region, address, bytes, owner, tag. */
export type Place = [Region, number, number, OwnerKind, number, string]

/** A MemoryTrace, told by hand what happens. */
export interface Trace {
  setLevel(level: number): void
  allocated(...place: Place): void
  freeRequested(...place: Place): void
  freeCompleted(...place: Place): void
  segmentMapped(...place: Place): void
  segmentUnmapped(...place: Place): void
  transferred(
    region: Region,
    ...pair: [OwnerKind, number, string, OwnerKind, number, string, number]
  ): void
  outOfMemory(...place: Place): void
  ownerEnded(kind: OwnerKind, owner: number): void
  snapshot(): NativeTrace
  /** Of one owner who is over; only of a Memory's trace. */
  leaks(kind: OwnerKind, owner: number): NativeLeakReport
  /** So many threads record so many allocations with their frees. */
  hammer(threads: number, rounds: number, switchLevels: boolean): void
  /** Nanoseconds an event. */
  cost(events: number): number
  check(): void
  dispose(): void
}

export interface PoolFigures {
  mapped: number
  used: number
  packed: number
  liveBytes: number
  stuckBytes: number
  capacity: number
  free: number
  owned: number
  inFlight: number
}

/** A BlockPool of sessions' blocks over addresses that are only counted. */
export interface Pool {
  /** `last`: the session's last block, -1 for none; `expected`: how many it will take in all. */
  take(session: number, count: number, last: number, expected: number): number[] | null
  release(session: number, blocks: number[], fence: number): void
  passFence(step: number): void
  trim(keep: number): number
  /** One slice: session, from, to, session … */
  compact(onlyIfStuck: boolean): number[]
  /** Candidates the first to go first, each with its blocks in order; candidate, blocks from its end, candidate … */
  planEviction(
    candidates: number[][],
    wanted: number,
    pageAware: boolean,
  ): { evictions: number[]; blocks: number; pages: number }
  /** How many more pages the device has. */
  setRoom(pages: number): void
  raiseCapacity(freeBytes: number): void
  pages(): PoolFigures
  check(): void
  dispose(): void
}

export interface ModelLoad {
  spec: NativeModelSpec
  manifest: NativeWeightManifest
  dtype: NativeDType
  keepFileDType: boolean
  cancelled?: boolean
  /** StreamOptions of cpp/model/weights.h. */
  ringLimit?: number
  dropBehind?: boolean
  mapFiles?: boolean
  failChunk?: number
  /** Returning true cancels. */
  onProgress?: (doneBytes: number, totalBytes: number) => boolean | void
}

export interface BatchLimits {
  maxTokens: number
  maxSequences: number
  maxBlocksPerSequence: number
  maxLogitRows: number
}

export interface DecoderOptions {
  activations: NativeDType
  kvDType: NativeDType
  blockSize: number
  blocks: number
  limits: BatchLimits
}

export interface Sequence {
  tokens: number[]
  start: number
  blocks?: number[]
  everyLogit?: boolean
  noLogit?: boolean
}

/** Weights and, once opened, a decoder with its cache. */
export interface Model {
  /** Numbers; of a parameter with codes as fp32, and in how many matrices it lies. */
  read(name: string): { dtype: NativeDType | 'codes'; pieces?: number; values: Float32Array }
  openDecoder(options: DecoderOptions): void
  /** Logits of the wanted rows, end to end. */
  forward(sequences: Sequence[]): Float32Array
  dispose(): void
}

export interface BuiltBatch {
  tokens: Int32Array
  positions: Int32Array
  slots: BigInt64Array
  queryStart: Int32Array
  contextLength: Int32Array
  blockTable: Int32Array
  logitRows: Int32Array
  tableStride: number
  maxQueryLength: number
  maxContextLength: number
}

export interface AttentionLimits {
  dtype: 'fp32' | 'bf16' | 'fp16'
  heads: number
  kvHeads: number
  headDim: number
  maxSequences: number
  maxContextLength: number
}

/** Items and slots for pieces of them, of single query tokens and of a few; where what lies in the scratch ends. */
export interface AttentionScratch {
  headShare: number
  shares: number
  fewHeadShare: number
  fewShares: number
  capacity: number
  fewCapacity: number
  groupCounters: number
  counterBytes: number
  bytes: number
}

export interface NativeTesting {
  /** Over the device of that name, or one of so many bytes whose streams stand still. */
  Memory: new (device: string | { totalBytes: number }) => Memory
  Pages: new (memory: Memory, options: PageOptions) => Pages
  Pool: new (memory: Memory, options: { blocks: number; blockBytes: number; room?: number }) => Pool
  Cache: new (memory: Memory, shape: CacheShape, blocks: number) => Cache
  Model: new (memory: Memory, load: ModelLoad) => Model
  /** A trace of its own, or that of a Memory. */
  Trace: new (options: NativeTraceOptions, memory?: Memory) => Trace
  validateSpec(spec: NativeModelSpec): void
  parametersOf(spec: NativeModelSpec): { name: string; shape: number[] }[]
  validateManifest(spec: NativeModelSpec, manifest: NativeWeightManifest): void
  weightBytes(load: ModelLoad): number
  decoderBytes(plan: Pick<DecoderOptions, 'activations' | 'limits'> & { spec: NativeModelSpec }): {
    total: number
    /** The part in region weights. */
    constants: number
  }
  attentionScratch(attention: AttentionLimits): AttentionScratch
  buildBatch(sequences: Sequence[], blockSize: number, limits: BatchLimits): BuiltBatch
  /** False: ranges of addresses reserved from now on are taken whole, as where the driver cannot map pages. */
  allowPageMapping(allowed: boolean): void
  /** What malloc has handed out, of its main arena and of mappings; null where the C library has no count. */
  mallocBytes(): number | null
  /** The ops on a concurrent stream of the device: below 0, −1 − row stands for sampled[row]. */
  resolveTokens(of: { device: string; tokens: Int32Array; sampled: Int32Array }): Int32Array
  /** `rows`: how many entries each row's history has. Returns token and count, in turn. */
  resolveHistory(of: {
    device: string
    tokens: Int32Array
    counts: Int32Array
    rows: Int32Array
    sampled: Int32Array
  }): Int32Array
  /** −7 where nothing was written. With `replays` the op is captured, and its graph launched so often. */
  widenRows(of: {
    device: string
    table: Int32Array
    stride: number
    rows: number
    outStride: number
    replays: number
  }): Int32Array
  /** What a capture that waits, or throws, says; more when its stream does not work afterwards. */
  captureBadly(of: { device: string; rule: 'wait' | 'throw' }): string
  /** A copy behind a gate: [done before it opened, event passed before that, done after]. */
  concurrentStream(): boolean[]
  /** What event, stream and device say after work has failed; last, whether later work was done. */
  failingStream(): [string, string, string, boolean]
}

const load = require('node-gyp-build') as (root: string) => { testing: NativeTesting }

export const testing: NativeTesting = load(join(__dirname, '../..')).testing

/** What a region takes for a request of that many bytes. */
export function roundedBytes(region: Region, bytes: number): number {
  if (region !== 'pinned') return Math.ceil(bytes / 512) * 512
  if (bytes <= 4096) return 4096
  const step = 2 ** Math.floor(Math.log2(bytes)) / 4
  return Math.ceil(bytes / step) * step
}

const opened: { dispose(): void }[] = []

/** Disposes a handle after the test, however it ends, and before what was opened earlier. */
export function disposeAfter<T extends { dispose(): void }>(handle: T): T {
  opened.unshift(handle)
  return handle
}

/** Memory over a device of its own; it and its threads go after the test. */
export function openMemory(device: string | { totalBytes: number } = 'cpu'): Memory {
  const memory = new testing.Memory(device)
  opened.push(memory)
  return memory
}

/** A trace of a ring of 64 events, all stacks, unless told otherwise. */
export function openTrace(options: Partial<NativeTraceOptions> = {}, memory?: Memory): Trace {
  const all = { level: 2, ringEvents: 64, sampleBytes: 2 ** 20, spillBytes: 2 ** 20, ...options }
  const trace = new testing.Trace(all, memory)
  opened.push(trace)
  return trace
}

afterEach(() => {
  for (const handle of opened.splice(0)) handle.dispose()
  expectNothingLive()
})
