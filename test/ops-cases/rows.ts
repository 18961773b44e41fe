/** Cases of the ops on rows, for any device. */
import {
  add,
  addRmsNorm,
  convert,
  embedding,
  gatherRows,
  headNorm,
  rmsNorm,
  rope,
  swiglu,
} from '../../lib/ops/index.js'
import type { FloatDType } from '../../lib/ops/index.js'
import { lazyCase, toleranceOf } from './compare.js'
import type { OpCase } from './compare.js'
import { round } from './random.js'
import * as reference from './reference-rows.js'
import { Scope } from './scope.js'

export const floats: readonly FloatDType[] = ['fp32', 'bf16', 'fp16']
const pairs = floats.flatMap((a) => floats.map((b) => [a, b] as const))
const shapes = [
  [1, 1],
  [3, 17],
  [17, 64],
  [5, 129],
  [65, 576],
  [2, 4097],
] as const

export function convertCases(): OpCase[] {
  const edges = [0, 1, 65504, 65519, 65520, 1e-7, 6e-8, 2.98e-8, 1e-40, 3.4e38, Infinity]
  const special = [...edges, ...edges.map((value) => -value), NaN]
  return pairs.map(([from, to]) =>
    lazyCase(`convert ${from} → ${to}`, (random) => {
      const values = round(from, [...special, ...random.values(1000, from, 100)])
      return {
        run(device) {
          using scope = new Scope(device)
          const out = scope.matrix(to, 1, values.length, null)
          convert(out.view, scope.matrix(from, 1, values.length, values).view)
          return { out: out.read() }
        },
        reference: () => ({ out: round(to, values) }),
        tolerance: { relative: 0, absolute: 0 },
      }
    }),
  )
}

export function embeddingCases(): OpCase[] {
  return pairs.map(([table, out]) =>
    lazyCase(`embedding ${table} → ${out}`, (random) => {
      const [rows, columns] = [33, 65]
      const values = random.values(rows * columns, table)
      const tokens = [0, 32, 7, 7, -1, 33, 2147483647, ...random.shuffled(rows)]
      return {
        run(device) {
          using scope = new Scope(device)
          const placed = scope.matrix(out, tokens.length, columns, null)
          embedding(placed.view, tokens, scope.matrix(table, rows, columns, values).view)
          return { out: placed.read() }
        },
        reference: () => ({ out: round(out, reference.selectRows(values, columns, tokens)) }),
        tolerance: { relative: 0, absolute: 0 },
      }
    }),
  )
}

export function gatherRowsCases(): OpCase[] {
  return pairs.map(([from, out]) =>
    lazyCase(`gatherRows ${from} → ${out}`, (random) => {
      const [rows, columns] = [17, 129]
      const values = random.values(rows * columns, from)
      const picked = [16, 0, 3, 3, ...random.shuffled(rows)]
      return {
        run(device) {
          using scope = new Scope(device)
          const placed = scope.matrix(out, picked.length, columns, null)
          gatherRows(placed.view, scope.matrix(from, rows, columns, values).view, picked)
          return { out: placed.read() }
        },
        reference: () => ({ out: round(out, reference.selectRows(values, columns, picked)) }),
        tolerance: { relative: 0, absolute: 0 },
      }
    }),
  )
}

export function rmsNormCases(): OpCase[] {
  return shapes.flatMap(([rows, columns]) =>
    pairs.map(([dtype, weightType]) =>
      lazyCase(`rmsNorm ${rows}×${columns} ${dtype}, weight ${weightType}`, (random) => {
        const x = random.values(rows * columns, dtype, 3)
        const weight = random.values(columns, weightType)
        return {
          run(device) {
            using scope = new Scope(device)
            const weights = scope.vector(weightType, weight)
            const placed = scope.matrix(dtype, rows, columns, x)
            const out = scope.matrix('fp32', rows, columns, null)
            rmsNorm(out.view, placed.view, weights, 1e-5)
            rmsNorm(placed.view, placed.view, weights, 1e-5)
            return { out: out.read(), inPlace: placed.read() }
          },
          reference() {
            const out = reference.rmsNorm(x, weight, 1e-5)
            return { out, inPlace: out }
          },
          tolerance: toleranceOf(dtype),
        }
      }),
    ),
  )
}

export function addRmsNormCases(): OpCase[] {
  return shapes.flatMap(([rows, columns]) =>
    pairs.map(([dtype, residualType]) =>
      lazyCase(`addRmsNorm ${rows}×${columns} ${dtype}, residual ${residualType}`, (random) => {
        const x = random.values(rows * columns, dtype)
        const residual = random.values(rows * columns, residualType, 2)
        const weight = random.values(columns, dtype)
        return {
          run(device) {
            using scope = new Scope(device)
            const placed = scope.matrix(dtype, rows, columns, x)
            const sums = scope.matrix(residualType, rows, columns, residual)
            addRmsNorm(placed.view, sums.view, placed.view, scope.vector(dtype, weight), 1e-6)
            return { residual: sums.read(), out: placed.read() }
          },
          reference() {
            const sums = round(residualType, reference.sum(x, residual))
            return { residual: sums, out: reference.rmsNorm(sums, weight, 1e-6) }
          },
          tolerance: toleranceOf(dtype === 'fp32' ? residualType : dtype),
        }
      }),
    ),
  )
}

export function addCases(): OpCase[] {
  return shapes.flatMap(([rows, columns]) =>
    pairs.map(([y, x]) =>
      lazyCase(`add ${rows}×${columns} ${y} += ${x}`, (random) => {
        const left = random.values(rows * columns, y)
        const right = random.values(rows * columns, x)
        return {
          run(device) {
            using scope = new Scope(device)
            const placed = scope.matrix(y, rows, columns, left)
            add(placed.view, scope.matrix(x, rows, columns, right).view)
            return { y: placed.read() }
          },
          reference: () => ({ y: reference.sum(left, right) }),
          tolerance: toleranceOf(y),
        }
      }),
    ),
  )
}

export function swigluCases(): OpCase[] {
  return shapes.flatMap(([rows, columns]) =>
    pairs.map(([input, out]) =>
      lazyCase(`swiglu ${rows}×${columns} ${input} → ${out}`, (random) => {
        const gateUp = random.values(rows * 2 * columns, input, 4)
        if (rows > 1) gateUp.set(round(input, [0, -100, 100, -1000]), 0)
        return {
          run(device) {
            using scope = new Scope(device)
            const placed = scope.matrix(out, rows, columns, null)
            swiglu(placed.view, scope.matrix(input, rows, 2 * columns, gateUp).view)
            return { out: placed.read() }
          },
          reference: () => ({ out: reference.swiglu(gateUp, columns) }),
          tolerance: toleranceOf(out),
        }
      }),
    ),
  )
}

export function headNormCases(): OpCase[] {
  return [8, 24, 64, 80, 128, 256].flatMap((dim) =>
    floats.map((dtype) =>
      lazyCase(`headNorm dim ${dim} ${dtype}`, (random) => {
        const shape = { tokens: 5, heads: 3, dim }
        const x = random.values(5 * 3 * dim, dtype, 2)
        const weight = random.values(dim, dtype)
        return {
          run(device) {
            using scope = new Scope(device)
            const placed = scope.heads(dtype, shape, x)
            headNorm(placed.view, scope.vector(dtype, weight), 1e-6)
            return { heads: placed.read() }
          },
          reference: () => ({ heads: reference.rmsNorm(x, weight, 1e-6) }),
          tolerance: toleranceOf(dtype),
        }
      }),
    ),
  )
}

export function ropeCases(): OpCase[] {
  return [2, 8, 24, 64, 80, 128, 256].flatMap((dim) =>
    floats.map((dtype) =>
      lazyCase(`rope dim ${dim} ${dtype}`, (random) => {
        const [tokens, heads, kvHeads, magnitude] = [7, 6, 2, dim === 80 ? 1.25 : 1]
        const query = random.values(tokens * heads * dim, dtype)
        const key = random.values(tokens * kvHeads * dim, dtype)
        const positions = [0, 1, 5, 1000, 131071, 3, 77]
        const inverseFrequencies = Float32Array.from(
          { length: dim / 2 },
          (_, i) => 10000 ** ((-2 * i) / dim),
        )
        const rotate = (x: Float32Array, count: number) =>
          reference.rope(x, [tokens, count, dim], positions, inverseFrequencies, magnitude)
        return {
          run(device) {
            using scope = new Scope(device)
            const queries = scope.heads(dtype, { tokens, heads, dim }, query)
            const keys = scope.heads(dtype, { tokens, heads: kvHeads, dim }, key)
            rope(queries.view, keys.view, { positions, inverseFrequencies, magnitude })
            return { query: queries.read(), key: keys.read() }
          },
          reference: () => ({ query: rotate(query, heads), key: rotate(key, kvHeads) }),
          tolerance: { ...toleranceOf(dtype), absolute: 2 ** -20 },
        }
      }),
    ),
  )
}
