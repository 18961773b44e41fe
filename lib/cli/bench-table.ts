/** Measured values in columns. */
import type { Distribution } from '../bench/distribution.js'

const columns = ['count', 'mean', 'p50', 'p90', 'p99', 'max'] as const

/** Three digits at least. */
export function figure(value: number | null): string {
  if (value === null) return '–'
  return value.toFixed(value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3)
}

/** A row a distribution; one without values is left out. */
export function distributionTable(rows: Record<string, Distribution | null>): string {
  const head = `${''.padEnd(12)}${columns.map((name) => name.padStart(11)).join('')}\n`
  const lines = Object.entries(rows).map(([name, values]) =>
    values === null
      ? ''
      : `${name.padEnd(12)}${columns
          .map((column) => (column === 'count' ? String(values.count) : figure(values[column])))
          .map((cell) => cell.padStart(11))
          .join('')}\n`,
  )
  return head + lines.join('')
}
