/** One request at a time: how long a caller waits who has the engine for himself. */
import type { Engine } from '../engine.js'
import { refuseFailure, requireContext } from './context.js'
import { distributionOf, type Distribution } from './distribution.js'
import { promptOf } from './prompts.js'
import { runRequest, type RequestFigures } from './request-figures.js'

export interface LatencyOptions {
  inputTokens: number
  outputTokens: number
  /** Runs that are not counted. */
  warmUp: number
  repeats: number
  seed: number
  signal: AbortSignal
  /** Called after each run. */
  onRun?: (done: number, all: number) => void
}

export interface LatencyFigures {
  inputTokens: number
  outputTokens: number
  /** That were counted. */
  runs: number
  ttftMs: Distribution | null
  /** Of every gap of every run. */
  itlMs: Distribution | null
  e2eMs: Distribution | null
  /** The median of the runs' tokens after the first, per second after the first; null without two tokens. */
  tokensPerSecond: number | null
  interrupted: boolean
}

/** Throws OCTAVO_CONTEXT_EXCEEDED, and what refuses a run. */
export async function measureLatency(
  engine: Engine,
  options: LatencyOptions,
): Promise<LatencyFigures> {
  const { inputTokens, outputTokens, warmUp, repeats, seed, signal } = options
  requireContext(engine, inputTokens, outputTokens)
  const runs: RequestFigures[] = []
  const vocabulary = engine.model.vocabularySize
  for (let index = 0; index < warmUp + repeats && !signal.aborted; index++) {
    const prompt = promptOf({ inputTokens, blocks: [] }, index, {
      vocabulary,
      seed,
      blockTokens: 1,
    })
    const arrival = performance.now()
    const plan = { prompt, outputTokens, arrival, beginning: arrival, seed, signal }
    const figures = await runRequest(engine, plan)
    if (figures.cancelled) break
    refuseFailure(figures)
    if (index >= warmUp) runs.push(figures)
    options.onRun?.(index + 1, warmUp + repeats)
  }
  return { inputTokens, outputTokens, ...figuresOf(runs), interrupted: signal.aborted }
}

function figuresOf(
  runs: readonly RequestFigures[],
): Omit<LatencyFigures, 'inputTokens' | 'outputTokens' | 'interrupted'> {
  const rates = runs
    .filter(({ itlMs }) => itlMs.length > 0)
    .map(({ itlMs }) => (1000 * itlMs.length) / itlMs.reduce((sum, gap) => sum + gap, 0))
  return {
    runs: runs.length,
    ttftMs: distributionOf(runs.flatMap(({ ttftMs }) => ttftMs ?? [])),
    itlMs: distributionOf(runs.flatMap(({ itlMs }) => itlMs)),
    e2eMs: distributionOf(runs.map(({ e2eMs }) => e2eMs)),
    tokensPerSecond: distributionOf(rates)?.p50 ?? null,
  }
}
