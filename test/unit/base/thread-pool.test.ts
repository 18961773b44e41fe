import { hostTesting } from '../../helpers/host-testing.js'
import { refusal } from '../../helpers/refusal.js'

const { parallelFor } = hostTesting

const usual = { threads: 4, count: 1000, grain: 1, failAt: -1, callers: 1 }

describe('parallelFor', () => {
  test.each([1, 2, 3, 7, 16])('%i threads visit everything once, in whole ranges', (threads) => {
    for (const count of [0, 1, 2, 5, 63, 64, 1000]) {
      for (const grain of [0, 1, 7, 64, 5000]) {
        const { visits, ranges } = parallelFor({ ...usual, threads, count, grain })
        expect(visits.every((times) => times === 1)).toBe(true)
        const sorted = ranges.sort(([a], [b]) => a - b)
        expect(sorted.reduce((end, [begin, next]) => (begin === end ? next : NaN), 0)).toBe(count)
        const whole = Math.min(Math.max(grain, 1), count)
        for (const [begin, end] of ranges) expect(end - begin).toBeGreaterThanOrEqual(whole)
      }
    }
  })

  test('the cut depends on count, grain and threads alone', () => {
    const cut = () =>
      parallelFor({ ...usual, threads: 3, count: 1001, grain: 10 }).ranges.sort(([a], [b]) => a - b)
    const first = cut()
    expect(first.length).toBeGreaterThan(3)
    for (let i = 0; i < 20; i++) expect(cut()).toEqual(first)
  })

  test('an exception in any range comes out, after all others ran', () => {
    for (const failAt of [0, 500, 999]) {
      const refused = refusal(() => parallelFor({ ...usual, failAt }))
      expect(refused).toMatchObject({ code: 'OCTAVO_INTERNAL', message: `failed at ${failAt}` })
    }
    expect(parallelFor({ ...usual, threads: 1, failAt: 5000 }).ranges).toEqual([[0, 1000]])
  })

  test('calls from several threads take turns', () => {
    for (let i = 0; i < 20; i++) {
      const { visits } = parallelFor({ ...usual, callers: 5 })
      expect(visits.every((times) => times === 5)).toBe(true)
    }
  })

  test('pools come and go', () => {
    for (let i = 0; i < 300; i++) parallelFor({ ...usual, threads: 1 + (i % 5), count: 8 })
  })
})
