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

/**
 * Of single steps, each after the right tokens: those that no other rounding may decide differently (their margin is at
 * least `tolerance`), and how many of them choose the expected token. Margins null: those of the rows themselves.
 */
export function compareClear(
  rows: readonly ArrayLike<number>[],
  expected: readonly number[],
  margins: readonly number[] | null,
  tolerance: number,
): { clear: number; right: number } {
  if (rows.length !== expected.length)
    throw new Error(`${rows.length} rows, ${expected.length} ids`)
  const found = { clear: 0, right: 0 }
  rows.forEach((row, step) => {
    const { best, margin } = bestOf(row)
    if ((margins?.[step] ?? margin) < tolerance) return
    found.clear++
    if (best === expected[step]) found.right++
  })
  return found
}

/** The id of the largest logit, and how much larger it is than the second. */
function bestOf(row: ArrayLike<number>): { best: number; margin: number } {
  let [best, first, second] = [-1, -Infinity, -Infinity]
  for (let id = 0; id < row.length; id++) {
    const logit = row[id]!
    if (logit > first) [best, first, second] = [id, logit, first]
    else if (logit > second) second = logit
  }
  return { best, margin: first - second }
}
