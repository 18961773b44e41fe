/** `memory.trace` of `Engine.load`. */
import { isPath, OptionReader } from './reader.js'

/**
 * 0: counters only. 1: one allocation in every `sampleBytes`, with its native stack. 2: every allocation,
 * free, segment and transfer between owners, with stacks of 8 frames. 3: also the stacks of frees, and the
 * spill file.
 */
export type TraceLevel = 0 | 1 | 2 | 3

/** A file that receives every event of level 3 as a line of JSON. */
export interface TraceSpillOptions {
  /** A regular file, made anew at the first entry into level 3. */
  path: string
  /** Where it stops. Default 256 MiB. */
  maxBytes?: number | undefined
}

/** How much of what happens to memory is recorded. */
export interface TraceOptions {
  /** Default 0. `engine.setTraceLevel` changes it. */
  level?: TraceLevel | undefined
  /** The last so many events are kept, 96 bytes of host memory each. 1 to 1,000,000, default 65,536. */
  ringEvents?: number | undefined
  /** Level 1: bytes allocated from one sample to the next. Default 1 MiB. */
  sampleBytes?: number | undefined
  spill?: string | TraceSpillOptions | undefined
}

/** TraceOptions with every default filled in. */
export interface TraceSettings {
  level: TraceLevel
  ringEvents: number
  sampleBytes: number
  spill: { path: string; maxBytes: number } | null
}

export const traceLevels: readonly TraceLevel[] = [0, 1, 2, 3]
const defaultSpillBytes = 256 * 2 ** 20

function readSpill(read: OptionReader<TraceOptions>): TraceSettings['spill'] {
  const given = read.raw('spill')
  if (given === undefined) return null
  if (isPath(given)) return { path: given, maxBytes: defaultSpillBytes }
  if (typeof given !== 'object')
    throw read.invalid('spill', 'the path of a file, or { path, maxBytes }')
  const known = { path: true, maxBytes: true } as const
  const spill = new OptionReader<TraceSpillOptions>(given, known, 'memory.trace.spill')
  const path = spill.raw('path')
  if (!isPath(path)) throw spill.invalid('path', 'the path of a file')
  return { path, maxBytes: spill.integer('maxBytes', { min: 1 }) ?? defaultSpillBytes }
}

/** A level alone, or TraceOptions. Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
export function readTraceOptions(options: unknown): TraceSettings {
  const given = typeof options === 'number' ? { level: options } : options
  const known = { level: true, ringEvents: true, sampleBytes: true, spill: true } as const
  const read = new OptionReader<TraceOptions>(given, known, 'memory.trace')
  return {
    level: read.oneOf('level', traceLevels) ?? 0,
    ringEvents: read.integer('ringEvents', { min: 1, max: 1_000_000 }) ?? 65_536,
    sampleBytes: read.integer('sampleBytes', { min: 1 }) ?? 2 ** 20,
    spill: readSpill(read),
  }
}
