/** What `Engine.plan` accepts, and how it is checked. */
import { engineOptionNames, readEngineOptions } from './engine-options.js'
import type { EngineOptions, EngineSettings } from './engine-options.js'
import { OptionReader } from './reader.js'

/** The memory of a device that is not here. */
export interface AssumedMemory {
  /** All of it, in bytes: 80 × 2³⁰ for a card of 80 GiB. */
  total: number
  /**
   * What its driver takes for a context, in bytes, as `octavo doctor` or an `engine.plan()` on such a card shows
   * it. Without it nothing is counted for the context, and the plan's `contextBytes` is null.
   */
  context?: number | undefined
}

/** How a model would be loaded, and what shall fit. Every field may be left out. */
export interface PlanOptions extends Omit<EngineOptions, 'signal' | 'onProgress'> {
  /** Plans for a device with this memory instead of asking the device, which need not be here. */
  assume?: AssumedMemory | undefined
  /** Tokens of a session that must fit; the plan says how many do at once. Default: nothing must. */
  context?: number | undefined
  /** Sessions of `context` tokens that must fit at once. Default 1. */
  sessions?: number | undefined
}

export interface PlanSettings {
  engine: EngineSettings
  assume: { total: number; context: number | null } | null
  /** 0: nothing is demanded */
  contextTokens: number
  sessions: number
}

function readAssumed(given: unknown): PlanSettings['assume'] {
  if (given === undefined) return null
  const read = new OptionReader<AssumedMemory>(given, { total: true, context: true }, 'assume')
  const range = { min: 0, max: Number.MAX_SAFE_INTEGER }
  const total = read.integer('total', { ...range, min: 1 })
  if (total === undefined) throw read.invalid('total', 'the memory of the device in bytes')
  return { total, context: read.integer('context', range) ?? null }
}

/** Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
export function readPlanOptions(options: unknown): PlanSettings {
  const { signal: _, onProgress: __, ...names } = engineOptionNames
  const read = new OptionReader<PlanOptions>(options, {
    ...names,
    assume: true,
    context: true,
    sessions: true,
  })
  const engine = Object.fromEntries(
    Object.keys(names).map((name) => [name, read.raw(name as keyof typeof names)]),
  )
  const contextTokens = read.integer('context', { min: 1, max: 2 ** 31 - 1 }) ?? 0
  const sessions = read.integer('sessions', { min: 1, max: 2 ** 31 - 1 })
  if (sessions !== undefined && contextTokens === 0) {
    throw read.invalid('sessions', 'given with context, the tokens of each of them')
  }
  return {
    engine: readEngineOptions(engine),
    assume: readAssumed(read.raw('assume')),
    contextTokens,
    sessions: sessions ?? 1,
  }
}
