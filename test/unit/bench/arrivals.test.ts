import { poissonArrivals } from '../../../lib/bench/arrivals.js'
import { RandomNumbers } from '../../../lib/bench/random-numbers.js'

const options = {
  rate: 10,
  requests: 20_000,
  input: { min: 16, max: 8192 },
  output: { min: 1, max: 3 },
  seed: 7,
}

test('a seed decides every arrival, and more requests do not change the first ones', () => {
  const arrivals = poissonArrivals(options)
  expect(poissonArrivals(options)).toEqual(arrivals)
  expect(poissonArrivals({ ...options, requests: 100 })).toEqual(arrivals.slice(0, 100))
  expect(poissonArrivals({ ...options, seed: 8 })).not.toEqual(arrivals)
})

test('gaps have the mean and the spread of a Poisson process', () => {
  const arrivals = poissonArrivals(options)
  const gaps = arrivals.map(({ atMs }, i) => atMs - (arrivals[i - 1]?.atMs ?? 0))
  const mean = gaps.reduce((a, b) => a + b) / gaps.length
  const deviation = Math.sqrt(gaps.reduce((a, b) => a + (b - mean) ** 2, 0) / gaps.length)
  expect(mean).toBeGreaterThan(97)
  expect(mean).toBeLessThan(103)
  expect(deviation / mean).toBeGreaterThan(0.97)
  expect(deviation / mean).toBeLessThan(1.03)
  // Of exponential gaps a share of 1/e is longer than the mean.
  const longer = gaps.filter((gap) => gap > mean).length / gaps.length
  expect(longer).toBeCloseTo(Math.exp(-1), 1)
})

test('lengths lie between their ends, which are reached', () => {
  const arrivals = poissonArrivals(options)
  const inputs = arrivals.map(({ inputTokens }) => inputTokens)
  expect(Math.min(...inputs)).toBeLessThan(30)
  expect(Math.min(...inputs)).toBeGreaterThanOrEqual(16)
  expect(Math.max(...inputs)).toBeGreaterThan(8150)
  expect(Math.max(...inputs)).toBeLessThanOrEqual(8192)
  expect(new Set(arrivals.map(({ outputTokens }) => outputTokens))).toEqual(new Set([1, 2, 3]))
})

test('seeds beyond 32 bits matter', () => {
  const first = (seed: number): number => new RandomNumbers(seed).next()
  expect(first(5)).not.toBe(first(5 + 2 ** 32))
  expect(first(2 ** 53 - 1)).toBe(first(2 ** 53 - 1))
})
