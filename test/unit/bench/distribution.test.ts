import { distributionOf, quantile } from '../../../lib/bench/distribution.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

/** numpy's default by its definition: interpolate between the neighbours of place (n − 1) · q. */
function definition(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (sorted.length - 1) * q
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
  return low * (1 - (place % 1)) + high * (place % 1)
}

test('quantiles of known values', () => {
  expect(quantile([5], 0.99)).toBe(5)
  expect(quantile([1, 2], 0.5)).toBe(1.5)
  expect(quantile([1, 2, 3, 4, 5], 0.9)).toBeCloseTo(4.6, 12)
  expect(quantile([0, 10], 0)).toBe(0)
  expect(quantile([0, 10], 1)).toBe(10)
  expect(quantile([], 0.5)).toBeNaN()
})

test('quantiles of random values are those of the definition', () => {
  const random = new SeededRandom(1)
  for (const count of [1, 2, 3, 10, 99, 100, 101, 1000]) {
    const values = Array.from({ length: count }, () => random.next() * 1000)
    const found = distributionOf(values)!
    expect(found.p50).toBeCloseTo(definition(values, 0.5), 9)
    expect(found.p90).toBeCloseTo(definition(values, 0.9), 9)
    expect(found.p99).toBeCloseTo(definition(values, 0.99), 9)
    expect([found.count, found.min, found.max]).toEqual([
      count,
      Math.min(...values),
      Math.max(...values),
    ])
    expect(found.mean).toBeCloseTo(values.reduce((a, b) => a + b) / count, 9)
  }
})

test('no values make no distribution, and values are left as they are', () => {
  expect(distributionOf([])).toBeNull()
  const values = [3, 1, 2]
  distributionOf(values)
  expect(values).toEqual([3, 1, 2])
})
