/** The memory trace as the addon hands it over: long lists as columns. Mirrors cpp/memory/trace. */
import type { NativeLedgerLine, NativeReport } from './native.js'

/** Every field the runtime's own; `spillPath` absent: no file. */
export interface NativeTraceOptions {
  level: number
  ringEvents: number
  sampleBytes: number
  spillPath?: string
  spillBytes: number
}

export interface NativeSpill {
  /** '' without a file */
  path: string
  bytes: number
  lines: number
  dropped: number
  /** a sentence once it has stopped */
  problem: string
}

export interface NativeFrame {
  address: number
  /** '' where no name is known */
  function: string
  module: string
  offset: number
}

interface NativeOwned {
  region: NativeLedgerLine['region']
  ownerKind: NativeLedgerLine['ownerKind']
  ownerId: number
}

/** Bytes with an owner; `tag` and `stack` are indices. */
export interface NativeHolding extends NativeOwned {
  tag: number
  bytes: number
  stack: number
  sequence: number
  timeNs: number
}

export interface NativeSegment extends NativeHolding {
  address: number
}

export interface NativeAllocation extends NativeSegment {
  sampledBytes: number
  thread: number
  freeRequested: boolean
}

/** One element an event, oldest first; operation, region and kinds index the lists of names. */
export interface NativeEventColumns {
  sequence: Float64Array
  timeNs: Float64Array
  address: Float64Array
  bytes: Float64Array
  ownerId: Float64Array
  fromId: Float64Array
  tag: Uint32Array
  fromTag: Uint32Array
  stack: Uint32Array
  thread: Uint32Array
  operation: Uint8Array
  region: Uint8Array
  ownerKind: Uint8Array
  fromKind: Uint8Array
}

export interface NativeTrace {
  level: number
  ringEvents: number
  sampleBytes: number
  nowNs: number
  recorded: number
  overwritten: number
  dropped: number
  stacksDropped: number
  spill: NativeSpill
  operations: string[]
  regions: NativeLedgerLine['region'][]
  ownerKinds: NativeLedgerLine['ownerKind'][]
  tags: string[]
  /** per stack the indices of its frames, innermost first */
  stacks: number[][]
  frames: NativeFrame[]
  events: NativeEventColumns
  allocations: NativeAllocation[]
  segments: NativeSegment[]
  holdings: NativeHolding[]
}

/** Neighbouring KV blocks of one state. */
export interface NativeBlockRun {
  first: number
  count: number
  state: 'free' | 'owned' | 'cached' | 'inFlight' | 'quarantine'
  ownerKind: NativeLedgerLine['ownerKind']
  ownerId: number
}

export interface NativeSnapshot {
  report: NativeReport
  trace: NativeTrace
  /** of KV block 0 */
  kvAddress: number
  kvBlocks: NativeBlockRun[]
  /** Stretches of the KV cache that have memory. */
  kvPages: { address: number; bytes: number }[]
}

export interface NativeLeak extends NativeOwned {
  tag: string
  bytes: number
  count: number
  /** these three 0 where the trace did not see it */
  address: number
  sinceNs: number
  endedNs: number
  stack: NativeFrame[]
}

export interface NativeLeakReport {
  leaks: NativeLeak[]
  /** the clock of the times, now */
  nowNs: number
  streams: number
  events: number
  graphs: number
  pinned: number
  /** Of `pinned`, buffers that are kept for the next request. */
  pinnedKept: number
}
