import type { RequestFigures } from '../../../lib/bench/request-figures.js'
import { servingCsv, servingFigures } from '../../../lib/bench/serving-figures.js'

const request = (figures: Partial<RequestFigures>): RequestFigures => ({
  ...{ arrivalMs: 0, inputTokens: 10, outputTokens: 3, cachedTokens: 4, queueMs: 1, ttftMs: 20 },
  ...{ e2eMs: 50, itlMs: [10, 20], code: null, cancelled: false },
  ...figures,
})

const nothing = { outputTokens: 0, cachedTokens: 0, queueMs: null, ttftMs: null, itlMs: [] }
const run = {
  elapsedMs: 2000,
  requests: [
    request({}),
    request({ ttftMs: 200, e2eMs: 300 }),
    request({ itlMs: [100, 300], e2eMs: 450, arrivalMs: 1.23456 }),
    request({ ...nothing, code: 'OCTAVO_REQUEST_TOO_LARGE' }),
    request({ ...nothing, code: 'OCTAVO_REQUEST_TOO_LARGE' }),
    request({ ...nothing, code: 'OCTAVO_CONTEXT_EXCEEDED' }),
    request({ ...nothing, outputTokens: 1, ttftMs: 5, cancelled: true }),
  ],
}
const anything = { ttftMs: null, itlMs: null, e2eMs: null }

test('what was completed, refused by code and cancelled is counted apart', () => {
  const figures = servingFigures(run, anything, false)
  expect(figures).toMatchObject({
    ...{ requests: 7, completed: 3, cancelled: 1, interrupted: false },
    refused: { OCTAVO_REQUEST_TOO_LARGE: 2, OCTAVO_CONTEXT_EXCEEDED: 1 },
    ...{ inputTokens: 30, cachedTokens: 12, outputTokens: 10 },
    ...{ requestsPerSecond: 1.5, tokensPerSecond: 5 },
    goodput: { requestsPerSecond: 1.5, share: 3 / 7 },
    ttftMs: { count: 3, p50: 20, max: 200 },
    itlMs: { count: 6, min: 10, max: 300 },
    e2eMs: { count: 3, max: 450 },
    queueMs: { count: 3, p50: 1 },
  })
})

test.each([
  [{ ttftMs: 100 }, 2],
  [{ itlMs: 15 }, 2],
  [{ itlMs: 14 }, 0],
  [{ e2eMs: 60 }, 1],
  [{ ttftMs: 100, itlMs: 50 }, 1],
])('goals %j are met by %i', (goals, good) => {
  const { goodput } = servingFigures(run, { ...anything, ...goals }, false)
  expect(goodput).toEqual({ requestsPerSecond: good / 2, share: good / 7 })
})

test('a run without requests has no distributions', () => {
  const figures = servingFigures({ elapsedMs: 0, requests: [] }, anything, true)
  expect(figures).toMatchObject({ requests: 0, ttftMs: null, itlMs: null, interrupted: true })
  expect(figures.goodput).toEqual({ requestsPerSecond: 0, share: null })
})

test('a line a request', () => {
  const lines = servingCsv(run).split('\n')
  expect(lines).toHaveLength(9)
  expect(lines[0]).toBe(
    'arrivalMs,inputTokens,cachedTokens,outputTokens,queueMs,ttftMs,itlMeanMs,itlMaxMs,e2eMs,outcome',
  )
  expect(lines[1]).toBe('0,10,4,3,1,20,15,20,50,completed')
  expect(lines[3]).toBe('1.235,10,4,3,1,20,200,300,450,completed')
  expect(lines[4]).toBe('0,10,0,0,,,,,50,OCTAVO_REQUEST_TOO_LARGE')
  expect(lines[7]).toBe('0,10,0,1,,5,,,50,cancelled')
  expect(lines[8]).toBe('')
})
