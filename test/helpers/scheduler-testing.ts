/** `addon.testing`: a scheduler with sessions over a pool of blocks that are only counted; steps take no time. */
import { openMemory, testing, type Memory, type Pool } from './native-testing.js'
import type { NativePrefixOptions, NativePrefixReport } from '../../lib/native.js'

export interface SchedulerOptions {
  blockSize: number
  maxSequences: number
  maxBatchTokens: number
  maxLogitRows: number
  optimistic: boolean
  maxSamplingEntries?: number
  prefix?: NativePrefixOptions
}

export interface SchedulerRequest {
  maxNewTokens: number
  priority: number
  credits: number
  score: boolean
  repetitionPenalty?: number
}

/** What one step did. */
export interface SchedulerStep {
  /** request, start, count, logits (0: the last, 1: none, 2: every), request … */
  sequences: number[]
  starved: number[]
  refused: number[]
  finished: number[]
  planNanoseconds: number
}

export interface Scheduler {
  createSession(tenant: string): number
  forkSession(session: number): number
  /** Cancels what runs, too. */
  disposeSession(session: number): void
  submit(session: number, prompt: Int32Array, request: SchedulerRequest): number
  cancel(request: number): void
  grant(request: number, tokens: number): void
  /** Plans a step, and books it. */
  step(): SchedulerStep
  clearPrefixCache(): void
  /** One slice of the pool's compaction; returns how many blocks moved. */
  compact(): number
  state(): {
    running: number[]
    /** As they would be served. */
    waiting: number[]
    /** session, blocks, session … */
    held: number[]
    preemptions: number
    stalls: number
    prefix: NativePrefixReport
  }
  /** Of the pool, the sessions and the scheduler. */
  check(): void
}

interface SchedulerTesting {
  Scheduler: new (pool: Pool, options: SchedulerOptions) => Scheduler
}

export const schedulerOptions: SchedulerOptions = {
  blockSize: 16,
  maxSequences: 8,
  maxBatchTokens: 64,
  maxLogitRows: 16,
  optimistic: false,
}

export interface OpenScheduler {
  memory: Memory
  pool: Pool
  scheduler: Scheduler
}

export function openScheduler(
  blocks: number,
  options: Partial<SchedulerOptions> = {},
  blockBytes = 4096,
): OpenScheduler {
  const memory = openMemory()
  const pool = new testing.Pool(memory, { blocks, blockBytes })
  const { Scheduler: Handle } = testing as unknown as SchedulerTesting
  return { memory, pool, scheduler: new Handle(pool, { ...schedulerOptions, ...options }) }
}

export const generate: SchedulerRequest = {
  maxNewTokens: 16,
  priority: 0,
  credits: 1_000_000,
  score: false,
}
