/** What `engine.memorySnapshot()` returns: plain data, whole under JSON.stringify. */
import type { LedgerLine, MemoryReport, RegionName } from '../memory.js'
import type { TraceLevel } from '../options/trace-options.js'

/** An owner as the ledger names it. */
export type SnapshotOwner = LedgerLine['owner']

/** What happened to memory; see docs/trace.md for each. */
export type TraceOperation =
  | 'allocated'
  | 'freeRequested'
  | 'freeCompleted'
  | 'segmentMapped'
  | 'segmentUnmapped'
  | 'transferred'
  | 'outOfMemory'
  | 'ownerEnded'
  | 'snapshot'
  | 'levelChanged'

/** One frame of a native stack. */
export interface StackFrame {
  /** null where the module tells no name (stripped); `addr2line -e module offset` may know more. */
  function: string | null
  /** Path of the library or program. */
  module: string
  /** Bytes into the module. */
  offset: number
}

/** One event. Times are nanoseconds of a monotonic clock. */
export interface SnapshotEvent {
  /** From 1, without gaps. */
  sequence: number
  timeNs: number
  operation: TraceOperation
  region: RegionName
  /** null: none. KV blocks change owners by number, not by address. */
  address: number | null
  /** 'levelChanged': the new level. */
  bytes: number
  owner: SnapshotOwner
  tag: string | null
  /** Index into `stacks`. */
  stack: number
  /** As the operating system numbers threads. */
  thread: number
  /**
   * 'transferred': who had the bytes before. 'allocated', 'freeRequested' and 'freeCompleted' in a mapped segment:
   * whose line the segment is, which gives the bytes and gets them back. Else absent.
   */
  from?: SnapshotOwner
  fromTag?: string
}

/** A piece of a segment. */
export interface SnapshotBlock {
  address: number
  bytes: number
  /** 'free', 'owned', 'cached', 'inFlight' and 'quarantine' are KV blocks. */
  state: 'allocated' | 'freeRequested' | 'free' | 'owned' | 'cached' | 'inFlight' | 'quarantine'
  /** Of 'inFlight' and 'quarantine': the last one. null: nobody's. */
  owner: SnapshotOwner | null
  tag: string | null
  /** Neighbouring KV blocks of the same owner and state are one entry. */
  count: number
  stack: number
  /** When it was allocated; 0 where the trace did not see it. */
  timeNs: number
}

/** Contiguous memory that was taken from the device. */
export interface SnapshotSegment {
  address: number
  bytes: number
  region: RegionName
  owner: SnapshotOwner
  tag: string
  stack: number
  timeNs: number
  blocks: SnapshotBlock[]
}

/** A ledger line, with the stack that last brought bytes to it where the trace saw one. */
export interface SnapshotHolding extends LedgerLine {
  stack: number
  timeNs: number
}

/** What the trace itself did. */
export interface TraceReport {
  level: TraceLevel
  ringEvents: number
  sampleBytes: number
  /** Events since the load; `overwritten` of them are no longer in the ring. */
  recorded: number
  overwritten: number
  /** Not recorded, as the host had no memory; and recorded without a stack, as 16,384 others were known. */
  dropped: number
  stacksDropped: number
  spill: {
    path: string
    bytes: number
    lines: number
    dropped: number
    problem: string | null
  } | null
}

/** All that is known of an engine's memory at one moment. */
export interface MemorySnapshot {
  format: 'octavo-memory-snapshot'
  version: 1
  device: string
  /** ISO 8601. */
  takenAt: string
  /** The same moment on the events' clock. */
  timeNs: number
  trace: TraceReport
  statistics: MemoryReport
  /** By address. Memory that was allocated while nothing was traced is in `statistics` alone. */
  segments: SnapshotSegment[]
  owners: SnapshotHolding[]
  /** By number, each the indices of its frames, innermost first; number 0 is the unknown stack. */
  stacks: number[][]
  frames: StackFrame[]
  /** Oldest first. */
  events: SnapshotEvent[]
}

/** Memory that outlived its owner. */
export interface Leak {
  region: RegionName
  owner: SnapshotOwner
  tag: string
  bytes: number
  /** Allocations or KV blocks. */
  count: number
  /** null: not one allocation, or it was made while nothing was traced. The next three likewise. */
  address: number | null
  /** How long it has been held, and how long its owner has been gone. */
  heldMs: number | null
  endedMs: number | null
  stack: StackFrame[]
}

/** What sessions and requests that are over still hold. */
export interface LeakReport {
  leaks: Leak[]
  /** Of all leaks. */
  bytes: number
  /**
   * Alive on the engine's device now, its own included. Graphs are 0 until one is captured; `pinnedKept` of the pinned
   * buffers are held by nobody and kept for the next request.
   */
  objects: {
    streams: number
    events: number
    graphs: number
    pinned: number
    pinnedKept: number
  }
}
