/** What a service did with its requests, in figures and in rows. */
import type { ErrorCode } from '../errors.js'
import { distributionOf, type Distribution } from './distribution.js'
import type { RequestFigures } from './request-figures.js'
import type { ServingRun } from './serving.js'

/** What a caller still calls good; null: anything. */
export interface Goals {
  ttftMs: number | null
  /** Of the mean gap of a request. */
  itlMs: number | null
  e2eMs: number | null
}

export interface ServingFigures {
  elapsedMs: number
  requests: number
  completed: number
  /** Stopped with the run. */
  cancelled: number
  /** By code. */
  refused: Partial<Record<ErrorCode, number>>
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  requestsPerSecond: number
  tokensPerSecond: number
  /** Requests a second that met every goal, and their share of all that came. */
  goodput: { requestsPerSecond: number; share: number | null }
  ttftMs: Distribution | null
  /** Of every gap. */
  itlMs: Distribution | null
  e2eMs: Distribution | null
  queueMs: Distribution | null
  interrupted: boolean
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

const meanGap = ({ itlMs }: RequestFigures): number | null =>
  itlMs.length === 0 ? null : sum(itlMs) / itlMs.length

const isCompleted = ({ code, cancelled }: RequestFigures): boolean => code === null && !cancelled

function isGood(request: RequestFigures, goals: Goals): boolean {
  const within = (value: number | null, goal: number | null): boolean =>
    goal === null || value === null || value <= goal
  const { ttftMs, e2eMs } = request
  return (
    isCompleted(request) &&
    within(ttftMs, goals.ttftMs) &&
    within(meanGap(request), goals.itlMs) &&
    within(e2eMs, goals.e2eMs)
  )
}

export function servingFigures(
  { requests, elapsedMs }: ServingRun,
  goals: Goals,
  interrupted: boolean,
): ServingFigures {
  const completed = requests.filter(isCompleted)
  const good = requests.filter((request) => isGood(request, goals)).length
  const refused: ServingFigures['refused'] = {}
  for (const { code } of requests) if (code !== null) refused[code] = (refused[code] ?? 0) + 1
  const perSecond = (count: number): number => (elapsedMs > 0 ? (count * 1000) / elapsedMs : 0)
  const outputTokens = sum(requests.map((request) => request.outputTokens))
  return {
    elapsedMs,
    requests: requests.length,
    completed: completed.length,
    cancelled: requests.filter(({ cancelled }) => cancelled).length,
    refused,
    inputTokens: sum(completed.map((request) => request.inputTokens)),
    cachedTokens: sum(completed.map((request) => request.cachedTokens)),
    outputTokens,
    requestsPerSecond: perSecond(completed.length),
    tokensPerSecond: perSecond(outputTokens),
    goodput: {
      requestsPerSecond: perSecond(good),
      share: requests.length === 0 ? null : good / requests.length,
    },
    ttftMs: distributionOf(completed.flatMap(({ ttftMs }) => ttftMs ?? [])),
    itlMs: distributionOf(completed.flatMap(({ itlMs }) => itlMs)),
    e2eMs: distributionOf(completed.map(({ e2eMs }) => e2eMs)),
    queueMs: distributionOf(completed.flatMap(({ queueMs }) => queueMs ?? [])),
    interrupted,
  }
}

const columns: [name: string, of: (request: RequestFigures) => number | string | null][] = [
  ['arrivalMs', ({ arrivalMs }) => arrivalMs],
  ['inputTokens', ({ inputTokens }) => inputTokens],
  ['cachedTokens', ({ cachedTokens }) => cachedTokens],
  ['outputTokens', ({ outputTokens }) => outputTokens],
  ['queueMs', ({ queueMs }) => queueMs],
  ['ttftMs', ({ ttftMs }) => ttftMs],
  ['itlMeanMs', meanGap],
  ['itlMaxMs', ({ itlMs }) => (itlMs.length === 0 ? null : itlMs.reduce((a, b) => Math.max(a, b)))],
  ['e2eMs', ({ e2eMs }) => e2eMs],
  ['outcome', ({ code, cancelled }) => (cancelled ? 'cancelled' : (code ?? 'completed'))],
]

/** A line a request, under a line of names; milliseconds to the microsecond. */
export function servingCsv({ requests }: ServingRun): string {
  const cell = (value: number | string | null): string =>
    typeof value === 'number' ? String(Math.round(value * 1000) / 1000) : (value ?? '')
  const rows = requests.map((request) => columns.map(([, of]) => cell(of(request))).join(','))
  return `${[columns.map(([name]) => name).join(','), ...rows].join('\n')}\n`
}
