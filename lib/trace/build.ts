/** From the addon's columns to a MemorySnapshot. */
import { memoryReport } from '../memory.js'
import type {
  NativeFrame,
  NativeLeakReport,
  NativeSnapshot,
  NativeSpill,
  NativeTrace,
} from '../native-trace.js'
import type { TraceLevel } from '../options/trace-options.js'
import { buildSegments } from './segments.js'
import type {
  LeakReport,
  MemorySnapshot,
  SnapshotEvent,
  SnapshotHolding,
  StackFrame,
  TraceOperation,
  TraceReport,
} from './snapshot.js'

const frameOf = ({ function: name, module, offset }: NativeFrame): StackFrame => ({
  function: name === '' ? null : name,
  module,
  offset,
})

function spillOf({ path, problem, ...figures }: NativeSpill): TraceReport['spill'] {
  return path === '' ? null : { path, ...figures, problem: problem === '' ? null : problem }
}

function traceReport(trace: NativeTrace): TraceReport {
  const { level, ringEvents, sampleBytes, recorded, overwritten, dropped, stacksDropped } = trace
  const spill = spillOf(trace.spill)
  const figures = { ringEvents, sampleBytes, recorded, overwritten, dropped, stacksDropped }
  return { level: level as TraceLevel, ...figures, spill }
}

/** All events as objects. */
export function buildEvents(trace: NativeTrace): SnapshotEvent[] {
  const { events, operations, regions, ownerKinds, tags } = trace
  const built: SnapshotEvent[] = []
  for (let i = 0; i < events.sequence.length; i++) {
    const operation = operations[events.operation[i]!] as TraceOperation
    const address = events.address[i]!
    const tag = events.tag[i]!
    const event: SnapshotEvent = {
      sequence: events.sequence[i]!,
      timeNs: events.timeNs[i]!,
      operation,
      region: regions[events.region[i]!]!,
      address: address === 0 ? null : address,
      bytes: events.bytes[i]!,
      owner: { kind: ownerKinds[events.ownerKind[i]!]!, id: events.ownerId[i]! },
      tag: tag === 0 ? null : tags[tag]!,
      stack: events.stack[i]!,
      thread: events.thread[i]!,
    }
    if (operation === 'transferred' || events.fromTag[i] !== 0) {
      event.from = { kind: ownerKinds[events.fromKind[i]!]!, id: events.fromId[i]! }
      event.fromTag = tags[events.fromTag[i]!]!
    }
    built.push(event)
  }
  return built
}

/** Ledger lines with what the trace knows of the same holding. */
function buildOwners(
  ledger: MemorySnapshot['statistics']['ledger'],
  { holdings, tags }: NativeTrace,
): SnapshotHolding[] {
  const keyOf = (...parts: (string | number)[]): string => parts.join('\n')
  const known = new Map(
    holdings.map((held) => [
      keyOf(held.region, held.ownerKind, held.ownerId, tags[held.tag] ?? ''),
      held,
    ]),
  )
  return ledger.map((line) => {
    const held = known.get(keyOf(line.region, line.owner.kind, line.owner.id, line.tag))
    return { ...line, stack: held?.stack ?? 0, timeNs: held?.timeNs ?? 0 }
  })
}

export function buildSnapshot(
  device: string,
  native: NativeSnapshot,
  takenAt: Date,
): MemorySnapshot {
  const { trace } = native
  const statistics = memoryReport(device, native.report)
  return {
    format: 'octavo-memory-snapshot',
    version: 1,
    device,
    takenAt: takenAt.toISOString(),
    timeNs: trace.nowNs,
    trace: traceReport(trace),
    statistics,
    segments: buildSegments(native),
    owners: buildOwners(statistics.ledger, trace),
    stacks: trace.stacks,
    frames: trace.frames.map(frameOf),
    events: buildEvents(trace),
  }
}

export function buildLeaks(native: NativeLeakReport): LeakReport {
  const { nowNs, streams, events, graphs, pinned, pinnedKept } = native
  const since = (timeNs: number): number | null => (timeNs === 0 ? null : (nowNs - timeNs) / 1e6)
  const leaks = native.leaks.map((leak) => ({
    region: leak.region,
    owner: { kind: leak.ownerKind, id: leak.ownerId },
    tag: leak.tag,
    bytes: leak.bytes,
    count: leak.count,
    address: leak.address === 0 ? null : leak.address,
    heldMs: since(leak.sinceNs),
    endedMs: since(leak.endedNs),
    stack: leak.stack.map(frameOf),
  }))
  const bytes = leaks.reduce((sum, leak) => sum + leak.bytes, 0)
  return { leaks, bytes, objects: { streams, events, graphs, pinned, pinnedKept } }
}
