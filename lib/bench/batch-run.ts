/** Many requests that decode together: what the engine does in a second, and what a step of it costs the host. */
import type { Engine } from '../engine.js'
import { OctavoError } from '../errors.js'
import type { MemoryReport } from '../memory.js'
import type { StepTimes } from '../step-times.js'
import { refuseFailure, requireContext } from './context.js'
import { distributionOf, type Distribution } from './distribution.js'
import { promptOf } from './prompts.js'
import { runRequest, type RequestFigures } from './request-figures.js'

export interface BatchOptions {
  batch: number
  inputTokens: number
  /** Steps in which all of them decode, at least. */
  outputTokens: number
  seed: number
  signal: AbortSignal
}

/** Of the time from the last request's first token until the first request's end: all decode, none begins. */
export interface BatchFigures {
  batch: number
  inputTokens: number
  outputTokens: number
  steadyMs: number
  tokens: number
  tokensPerSecond: number
  /** In which each of them gets a token. */
  stepMs: number
  /** Microseconds of the engine's thread a step. */
  host: HostFigures
  ttftMs: Distribution | null
}

/** Microseconds a step. `wait` is the device's work and not in `total`. */
export interface HostFigures {
  plan: number
  upload: number
  launch: number
  book: number
  tell: number
  total: number
  wait: number
}

interface Moment {
  at: number
  tokens: number
  report: Pick<MemoryReport, 'steps' | 'stepTimes'>
}

/** The steady part of a run: opened by the last first token, closed by the first end. */
class SteadyWindow {
  readonly #engine: Engine
  #waiting: number
  #tokens = 0
  begun: Promise<Moment> | null = null
  ended: Promise<Moment> | null = null
  /** Requests that had ended when the last one began. */
  early = 0

  constructor(engine: Engine, batch: number) {
    this.#engine = engine
    this.#waiting = batch
  }

  /** `isFirst`: of its request; `isLast` too. */
  add(count: number, isFirst: boolean, isLast: boolean): void {
    this.#tokens += count
    if (isFirst && --this.#waiting === 0) this.begun = this.#moment()
    if (!isLast) return
    if (this.begun === null) this.early++
    else this.ended ??= this.#moment()
  }

  /** When all tokens of this step have been told of, which come together. */
  #moment(): Promise<Moment> {
    const moment = (async (): Promise<Moment> => {
      await new Promise(setImmediate)
      const at = performance.now()
      return { at, tokens: this.#tokens, report: this.#engine.memory() }
    })()
    moment.catch(() => {}) // where the run fails first, nobody waits for it
    return moment
  }
}

/** All made before the first is sent, so that they come together. */
function promptsOf({ model }: Engine, { batch, inputTokens, seed }: BatchOptions): Int32Array[] {
  const options = { vocabulary: model.vocabularySize, seed, blockTokens: 1 }
  const arrival = { inputTokens, blocks: [] }
  return Array.from({ length: batch }, (_, index) => promptOf(arrival, index, options))
}

/** Steps that pass while prompts are computed, one chunk after the other: the first ones decode meanwhile. */
function startingSteps(engine: Engine, { batch, inputTokens }: BatchOptions): number {
  const { maxBatchTokens } = engine.plan()
  return Math.ceil((batch * inputTokens) / Math.max(1, maxBatchTokens - batch)) + 2
}

/** Where the first ends before the last begins, the same again with more to do: this thread may have been held up. */
const mostTries = 4

/**
 * One run; null when it was interrupted before the steady part ended. Throws OCTAVO_CONTEXT_EXCEEDED, what refuses a
 * request, and OCTAVO_INVALID_ARGUMENT where the engine does not run so many at once.
 */
export async function runBatch(
  engine: Engine,
  options: BatchOptions,
): Promise<BatchFigures | null> {
  const { batch, inputTokens, signal } = options
  const { maxSequences } = engine.plan()
  if (maxSequences < batch) throw apart(batch, `the engine runs ${maxSequences} sequences at once`)
  let outputTokens = options.outputTokens + startingSteps(engine, options)
  requireContext(engine, inputTokens, outputTokens)
  let early = 0
  for (let tries = 1; ; tries++) {
    const { window, requests } = await decodeTogether(engine, options, outputTokens)
    const [begun, ended] = await Promise.all([window.begun, window.ended])
    if (tries === 1) requests.forEach(refuseFailure)
    if (signal.aborted) return null
    early = Math.max(early, window.early)
    const isTooMuch = requests.some(({ code }) => code !== null)
    if (!isTooMuch && window.early === 0 && begun !== null && ended !== null) {
      const ttftMs = distributionOf(requests.flatMap((request) => request.ttftMs ?? []))
      const shape = { batch, inputTokens, outputTokens: options.outputTokens }
      return { ...shape, ...between(begun, ended, batch), ttftMs }
    }
    if (tries === mostTries || isTooMuch) {
      throw apart(batch, `${early} had ended when the last one began`)
    }
    outputTokens = Math.min(2 * outputTokens, engine.model.contextLength - inputTokens)
  }
}

async function decodeTogether(
  engine: Engine,
  options: BatchOptions,
  outputTokens: number,
): Promise<{ window: SteadyWindow; requests: RequestFigures[] }> {
  const { seed, signal } = options
  const window = new SteadyWindow(engine, options.batch)
  const prompts = promptsOf(engine, options)
  const beginning = performance.now()
  const runs = prompts.map((prompt) => {
    let got = 0
    const onTokens = (count: number): void => {
      const isFirst = got === 0
      got += count
      window.add(count, isFirst, got >= outputTokens)
    }
    const plan = { prompt, outputTokens, arrival: beginning, beginning, seed, signal, onTokens }
    return runRequest(engine, plan)
  })
  return { window, requests: await Promise.all(runs) }
}

function apart(batch: number, problem: string): OctavoError {
  const cure = 'give it more places, or the KV cache more memory'
  const sentence = `${batch} requests cannot decode together: ${problem}; ${cure}`
  return new OctavoError('OCTAVO_INVALID_ARGUMENT', sentence)
}

function between(
  begun: Moment,
  ended: Moment,
  batch: number,
): Omit<BatchFigures, 'batch' | 'inputTokens' | 'outputTokens' | 'ttftMs'> {
  const steadyMs = ended.at - begun.at
  const tokens = ended.tokens - begun.tokens
  // The engine may be some steps ahead of who counts the tokens: what a step costs it is counted in its own steps.
  const steps = Math.max(1, ended.report.steps - begun.report.steps)
  return {
    steadyMs,
    tokens,
    tokensPerSecond: steadyMs > 0 ? (tokens * 1000) / steadyMs : 0,
    stepMs: tokens > 0 ? (steadyMs * batch) / tokens : 0,
    host: hostOf(begun.report.stepTimes, ended.report.stepTimes, steps),
  }
}

function hostOf(before: StepTimes, after: StepTimes, steps: number): HostFigures {
  const stage = (name: keyof StepTimes): number => ((after[name] - before[name]) * 1000) / steps
  const host = {
    plan: stage('planMs'),
    upload: stage('uploadMs'),
    launch: stage('launchMs'),
    book: stage('bookMs'),
    tell: stage('tellMs'),
  }
  const total = Object.values(host).reduce((sum, value) => sum + value, 0)
  return { ...host, total, wait: stage('waitMs') }
}
