/** How far two tables of logits are apart. */

export interface Difference {
  /** Largest absolute difference over the largest absolute expected value of the same row. */
  relative: number
  /** Smallest cosine of a row with its expected row. */
  cosine: number
}

/** Worst of all rows; NaN anywhere gives an infinite difference. */
export function compareLogits(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  columns: number,
): Difference {
  if (actual.length !== expected.length) {
    throw new Error(`${actual.length} logits, expected ${expected.length}`)
  }
  const worst: Difference = { relative: 0, cosine: 1 }
  for (let row = 0; row < expected.length; row += columns) {
    let largest = 0
    let difference = 0
    let [product, squareActual, squareExpected] = [0, 0, 0]
    for (let i = row; i < row + columns; i++) {
      const [a, e] = [actual[i]!, expected[i]!]
      largest = Math.max(largest, Math.abs(e))
      difference = Number.isFinite(a) ? Math.max(difference, Math.abs(a - e)) : Infinity
      product += a * e
      squareActual += a * a
      squareExpected += e * e
    }
    worst.relative = Math.max(worst.relative, difference / largest)
    const cosine = product / Math.sqrt(squareActual * squareExpected)
    worst.cosine = Math.min(worst.cosine, Number.isNaN(cosine) ? -1 : cosine)
  }
  return worst
}

/**
 * Steps until the first that another rounding may rightly decide differently (its margin is below
 * `tolerance`), and how many of them agree.
 */
export function compareGreedy(
  actual: readonly number[],
  expected: readonly number[],
  margins: readonly number[],
  tolerance: number,
): { decided: number; agreed: number } {
  const doubtful = margins.findIndex((margin) => margin < tolerance)
  const decided = doubtful < 0 ? expected.length : doubtful
  const wrong = expected.slice(0, decided).findIndex((id, step) => actual[step] !== id)
  return { decided, agreed: wrong < 0 ? decided : wrong }
}
