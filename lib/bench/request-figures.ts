/** One request, from its arrival to its end, as its caller sees it. */
import type { Engine } from '../engine.js'
import { OctavoError, type ErrorCode } from '../errors.js'

export interface RequestFigures {
  /** When it was meant to come, in milliseconds from the beginning of the run. */
  arrivalMs: number
  inputTokens: number
  /** Tokens that came. */
  outputTokens: number
  /** Prompt tokens that did not have to be computed. */
  cachedTokens: number
  /** From its arrival until the engine took it up; null when it never did. */
  queueMs: number | null
  /** From its arrival until the first token; null when none came. */
  ttftMs: number | null
  /** From its arrival until its end. */
  e2eMs: number
  /** Gaps between tokens; a piece of several tokens shares its gap among them. */
  itlMs: number[]
  /** What refused it or made it fail; null: nothing. */
  code: ErrorCode | null
  /** The run was stopped before its end. */
  cancelled: boolean
}

export interface RequestPlan {
  prompt: Int32Array
  outputTokens: number
  /** Milliseconds of performance.now() at which it is meant to come, and at which the run began. */
  arrival: number
  beginning: number
  seed: number
  signal: AbortSignal
  /** Called as tokens come. */
  onTokens?: (count: number) => void
}

/** Greedy, past every EOS, in a session of its own. Rejects for what no request can be blamed for alone. */
export async function runRequest(engine: Engine, plan: RequestPlan): Promise<RequestFigures> {
  const { prompt, arrival, signal } = plan
  const figures: RequestFigures = {
    arrivalMs: arrival - plan.beginning,
    inputTokens: prompt.length,
    ...{ outputTokens: 0, cachedTokens: 0, queueMs: null, ttftMs: null, e2eMs: 0, itlMs: [] },
    ...{ code: null, cancelled: false },
  }
  try {
    using session = engine.createSession()
    const options = { maxNewTokens: plan.outputTokens, seed: plan.seed, signal } as const
    const called = performance.now()
    const run = session.generate(prompt, { ...options, temperature: 0, ignoreEos: true })
    let last = 0
    for await (const { tokens } of run) {
      const now = performance.now()
      if (tokens.length === 0) continue
      addPiece(figures, tokens.length, now, last, arrival)
      plan.onTokens?.(tokens.length)
      last = now
    }
    const { usage, timings } = await run.result
    figures.cachedTokens = usage.cachedTokens
    figures.queueMs = Math.max(called - arrival, 0) + timings.queueMs
  } catch (error) {
    if (signal.aborted) figures.cancelled = true
    else if (error instanceof OctavoError && !isFatal(error.code)) figures.code = error.code
    else throw error
  }
  figures.e2eMs = performance.now() - arrival
  return figures
}

/** After these nothing more can be measured. */
const isFatal = (code: ErrorCode): boolean =>
  code === 'OCTAVO_INTERNAL' || code === 'OCTAVO_DEVICE_FAILED' || code === 'OCTAVO_DISPOSED'

function addPiece(
  figures: RequestFigures,
  tokens: number,
  now: number,
  last: number,
  arrival: number,
): void {
  figures.outputTokens += tokens
  if (figures.ttftMs === null) {
    figures.ttftMs = now - arrival
    return
  }
  for (let token = 0; token < tokens; token++) figures.itlMs.push((now - last) / tokens)
}
