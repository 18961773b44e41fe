/** Ops on rows in fp64, written from their definitions. Matrices are row-major arrays. */

type Numbers = ArrayLike<number>

export function rmsNorm(x: Numbers, weight: Numbers, epsilon: number): Float64Array {
  const columns = weight.length
  const out = new Float64Array(x.length)
  for (let start = 0; start < x.length; start += columns) {
    let squares = 0
    for (let i = 0; i < columns; i++) squares += x[start + i]! ** 2
    const root = Math.sqrt(squares / columns + epsilon)
    for (let i = 0; i < columns; i++) out[start + i] = (x[start + i]! / root) * weight[i]!
  }
  return out
}

export function sum(a: Numbers, b: Numbers): Float64Array {
  return Float64Array.from(a, (value, i) => value + b[i]!)
}

export function linear(
  x: Numbers,
  weight: Numbers,
  bias: Numbers | null,
  [m, n, k]: readonly [number, number, number],
): Float64Array {
  const out = new Float64Array(m * n)
  for (let row = 0; row < m; row++) {
    for (let column = 0; column < n; column++) {
      let dot = 0
      for (let i = 0; i < k; i++) dot += x[row * k + i]! * weight[column * k + i]!
      out[row * n + column] = dot + (bias?.[column] ?? 0)
    }
  }
  return out
}

export function swiglu(gateUp: Numbers, columns: number): Float64Array {
  const out = new Float64Array(gateUp.length / 2)
  for (let i = 0; i < out.length; i++) {
    const row = Math.floor(i / columns)
    const gate = gateUp[row * 2 * columns + (i % columns)]!
    const up = gateUp[row * 2 * columns + columns + (i % columns)]!
    out[i] = (gate / (1 + Math.exp(-gate))) * up
  }
  return out
}

export function selectRows(from: Numbers, columns: number, rows: readonly number[]): Float64Array {
  const out = new Float64Array(rows.length * columns)
  rows.forEach((row, r) => {
    const inside = row >= 0 && (row + 1) * columns <= from.length
    for (let i = 0; i < columns; i++) out[r * columns + i] = inside ? from[row * columns + i]! : 0
  })
  return out
}

/** The angle is a product of two fp32 numbers in fp32, as the op defines it. */
export function rope(
  x: Numbers,
  [tokens, heads, dim]: readonly [number, number, number],
  positions: readonly number[],
  inverseFrequencies: Numbers,
  magnitude: number,
): Float64Array {
  const out = Float64Array.from(x)
  const half = dim / 2
  for (let t = 0; t < tokens; t++) {
    for (let h = 0; h < heads; h++) {
      for (let i = 0; i < half; i++) {
        const angle = Math.fround(Math.fround(positions[t]!) * Math.fround(inverseFrequencies[i]!))
        const at = (t * heads + h) * dim + i
        const [a, b] = [x[at]!, x[at + half]!]
        out[at] = (a * Math.cos(angle) - b * Math.sin(angle)) * magnitude
        out[at + half] = (b * Math.cos(angle) + a * Math.sin(angle)) * magnitude
      }
    }
  }
  return out
}
