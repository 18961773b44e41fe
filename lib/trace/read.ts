/** Reads what `engine.memorySnapshot()` gave or a spill file holds, from files that may be anything. */
import { OctavoError } from '../errors.js'
import { readText } from './file.js'
import type { MemorySnapshot, SnapshotEvent, StackFrame } from './snapshot.js'

/** A snapshot; of a spill file, which has events and stacks alone, the rest is empty. */
export type ReadSnapshot = Omit<MemorySnapshot, 'statistics' | 'trace'> & {
  statistics: MemorySnapshot['statistics'] | null
  trace: MemorySnapshot['trace'] | null
}

type Json = Record<string, unknown>

function refuse(path: string, sentence: string): never {
  throw new OctavoError('OCTAVO_IO_FAILED', `${path} ${sentence}`)
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const sentence = `${path} is no JSON: ${(cause as Error).message}`
    throw new OctavoError('OCTAVO_IO_FAILED', sentence, { cause })
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isOwner = (value: unknown): boolean =>
  isObject(value) && typeof value['kind'] === 'string' && Number.isSafeInteger(value['id'])
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

type Check = (value: unknown) => boolean
const isText: Check = (value) => typeof value === 'string'
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value)

/** The fields of each kind of element, and what they must be. */
const place = { address: isCount, bytes: isCount, region: isText, owner: isOwner, tag: isText }
const fields: Record<'segments' | 'owners' | 'events' | 'frames', Record<string, Check>> = {
  segments: { ...place, stack: isCount, timeNs: isCount, blocks: Array.isArray },
  owners: { region: isText, owner: isOwner, tag: isText, bytes: isCount, stack: isCount },
  events: {
    sequence: isCount,
    timeNs: isCount,
    operation: isText,
    region: isText,
    address: orNull(isCount),
    bytes: isCount,
    owner: isOwner,
    tag: orNull(isText),
    stack: isCount,
    thread: isCount,
  },
  frames: { function: orNull(isText), module: isText, offset: isCount },
}
const blockFields: Record<string, Check> = {
  address: isCount,
  bytes: isCount,
  state: isText,
  owner: orNull(isOwner),
  tag: orNull(isText),
  stack: isCount,
}

function checkAll(path: string, name: string, list: unknown, checks: Record<string, Check>): void {
  if (!Array.isArray(list)) refuse(path, `has no list ${name}`)
  list.forEach((element: unknown, index) => {
    const wrong = Object.entries(checks).find(
      ([field, check]) => !isObject(element) || !check(element[field]),
    )
    if (wrong !== undefined)
      refuse(path, `is damaged: ${name}[${index}].${wrong[0]} is not what it must be`)
  })
}

function checkStacks(path: string, { stacks, frames }: Json): void {
  const count = (frames as unknown[]).length
  const isFrame = (index: unknown): boolean => isCount(index) && (index as number) < count
  const valid =
    Array.isArray(stacks) && stacks.every((stack) => Array.isArray(stack) && stack.every(isFrame))
  if (!valid) refuse(path, 'is damaged: stacks do not index frames')
}

function checkSnapshot(path: string, snapshot: Json): ReadSnapshot {
  if (snapshot['version'] !== 1) {
    refuse(
      path,
      `is a snapshot of version ${String(snapshot['version'])}; this octavo reads version 1`,
    )
  }
  for (const [name, checks] of Object.entries(fields)) checkAll(path, name, snapshot[name], checks)
  for (const segment of snapshot['segments'] as Json[]) {
    checkAll(path, 'blocks', segment['blocks'], blockFields)
  }
  checkStacks(path, snapshot)
  if (!isCount(snapshot['timeNs']) || !isText(snapshot['device']) || !isText(snapshot['takenAt'])) {
    refuse(path, 'is damaged: timeNs, device or takenAt is missing')
  }
  const { statistics, trace } = snapshot
  if (!isObject(trace) || !isObject(statistics) || !isObject(statistics['regions'])) {
    refuse(path, 'is damaged: trace or statistics is missing')
  }
  return snapshot as unknown as ReadSnapshot
}

/** A frame of a spill file, "octavo.node+0x1f20". */
function spilledFrame(text: string): StackFrame {
  const at = text.lastIndexOf('+')
  const offset = Number(text.slice(at + 1))
  return {
    function: null,
    module: text.slice(0, Math.max(at, 0)),
    offset: isCount(offset) ? offset : 0,
  }
}

/** Lines of a spill file; the last one may be cut short by the process's end. */
function readSpill(path: string, lines: string[]): ReadSnapshot {
  const events: SnapshotEvent[] = []
  const stacks: number[][] = [[]]
  const frames: StackFrame[] = []
  lines.forEach((line, index) => {
    if (line === '' || index === 0) return
    if (index === lines.length - 1 && !line.endsWith('}')) return
    const entry = parse(`${path}:${index + 1}`, line) as Json
    const texts = entry['frames']
    if (!Array.isArray(texts)) return void events.push(normalised(entry))
    stacks[entry['stack'] as number] = texts.map(
      (text) => frames.push(spilledFrame(String(text))) - 1,
    )
  })
  for (let id = 0; id < stacks.length; id++) stacks[id] ??= []
  checkAll(path, 'events', events, fields.events)
  const last = events.at(-1)
  return {
    format: 'octavo-memory-snapshot',
    version: 1,
    device: '',
    takenAt: '',
    timeNs: last?.timeNs ?? 0,
    trace: null,
    statistics: null,
    segments: [],
    owners: [],
    stacks,
    frames,
    events,
  }
}

const normalised = (entry: Json): SnapshotEvent =>
  ({ ...entry, address: entry['address'] === 0 ? null : entry['address'] }) as SnapshotEvent

/** Throws OCTAVO_IO_FAILED, saying what is wrong with the file. */
export async function readSnapshot(path: string): Promise<ReadSnapshot> {
  const text = await readText(path)
  if (text.startsWith('{"format":"octavo-memory-events"')) return readSpill(path, text.split('\n'))
  const snapshot = parse(path, text)
  if (isObject(snapshot) && snapshot['format'] === 'octavo-memory-snapshot')
    return checkSnapshot(path, snapshot)
  refuse(
    path,
    'is no memory snapshot of octavo; write one with JSON.stringify(engine.memorySnapshot())',
  )
}
