/** A fixed batch, several times: the median of what is measured. */
import type { Engine } from '../engine.js'
import { runBatch, type BatchFigures, type BatchOptions, type HostFigures } from './batch-run.js'
import { quantile } from './distribution.js'

export interface ThroughputOptions extends BatchOptions {
  /** Runs that are not counted. */
  warmUp: number
  repeats: number
  /** Called after each run. */
  onRun?: (done: number, all: number) => void
}

export interface ThroughputFigures {
  batch: number
  inputTokens: number
  outputTokens: number
  /** That were counted. */
  runs: BatchFigures[]
  /** Medians of the runs; null without one. */
  tokensPerSecond: number | null
  stepMs: number | null
  ttftMs: number | null
  host: HostFigures | null
  interrupted: boolean
}

/** Throws what `runBatch` throws. */
export async function measureThroughput(
  engine: Engine,
  options: ThroughputOptions,
): Promise<ThroughputFigures> {
  const { batch, inputTokens, outputTokens, warmUp, repeats, seed, signal } = options
  const runs: BatchFigures[] = []
  for (let index = 0; index < warmUp + repeats && !signal.aborted; index++) {
    const figures = await runBatch(engine, { ...options, seed: seed + index })
    if (figures === null) break
    if (index >= warmUp) runs.push(figures)
    options.onRun?.(index + 1, warmUp + repeats)
  }
  const shape = { batch, inputTokens, outputTokens }
  return { ...shape, runs, ...mediansOf(runs), interrupted: signal.aborted }
}

function median(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.5)
}

function mediansOf(
  runs: readonly BatchFigures[],
): Pick<ThroughputFigures, 'tokensPerSecond' | 'stepMs' | 'ttftMs' | 'host'> {
  if (runs.length === 0) return { tokensPerSecond: null, stepMs: null, ttftMs: null, host: null }
  const stage = (name: keyof HostFigures): number => median(runs.map((run) => run.host[name]))
  return {
    tokensPerSecond: median(runs.map((run) => run.tokensPerSecond)),
    stepMs: median(runs.map((run) => run.stepMs)),
    ttftMs: median(runs.map((run) => run.ttftMs?.p50 ?? 0)),
    host: {
      plan: stage('plan'),
      upload: stage('upload'),
      launch: stage('launch'),
      book: stage('book'),
      tell: stage('tell'),
      total: stage('total'),
      wait: stage('wait'),
    },
  }
}
