/** A native trace's columns as rows, and its stacks as names. */
import type { NativeTrace } from '../../lib/native-trace.js'
import { buildEvents } from '../../lib/trace/build.js'
import type { SnapshotEvent } from '../../lib/trace/snapshot.js'

/** Events without what differs from run to run; the change of level that opens a trace left out. */
export function eventsOf(trace: NativeTrace): Omit<SnapshotEvent, 'timeNs' | 'thread' | 'stack'>[] {
  return buildEvents(trace)
    .filter(({ sequence }) => sequence > 1)
    .map(({ timeNs: _time, thread: _thread, stack: _stack, ...event }) => event)
}

/** Function names of a stack, innermost first. */
export function namesOf({ stacks, frames }: NativeTrace, stack: number): string[] {
  return stacks[stack]!.map((frame) => frames[frame]!.function)
}
