/** What many measured values look like together. */

export interface Distribution {
  count: number
  mean: number
  min: number
  p50: number
  p90: number
  p99: number
  max: number
}

/**
 * The value that a share `q` of the sorted values lies below, linearly between neighbours: at place q · (count − 1), as
 * numpy and the published benchmarks take it. NaN of no values.
 */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) return NaN
  const place = q * (sorted.length - 1)
  const below = Math.floor(place)
  const low = sorted[below]!
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!
  return low + (high - low) * (place - below)
}

/** null of no values. */
export function distributionOf(values: readonly number[]): Distribution | null {
  if (values.length === 0) return null
  const sorted = Float64Array.from(values).sort()
  return {
    count: sorted.length,
    mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
    min: sorted[0]!,
    p50: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    p99: quantile(sorted, 0.99),
    max: sorted[sorted.length - 1]!,
  }
}
