/** Cases of `linear`, for any device. */
import { linear } from '../../lib/ops/index.js'
import type { FloatDType } from '../../lib/ops/index.js'
import { lazyCase, unit } from './compare.js'
import type { OpCase } from './compare.js'
import * as reference from './reference-rows.js'
import { floats } from './rows.js'
import { Scope } from './scope.js'

const sizes = [1, 3, 17, 63, 65, 129]

interface LinearCase {
  shape: readonly [m: number, n: number, k: number]
  x: FloatDType
  weight: FloatDType
  out: FloatDType
  bias: FloatDType | null
  gap: number
}

function linearCase({ shape, x, weight, out, bias, gap }: LinearCase): OpCase {
  const [m, n, k] = shape
  const plus = bias ? ` + ${bias}` : ''
  const name = `linear ${m}×${n}×${k} ${x} · ${weight}${plus} → ${out}, gap ${gap}`
  return lazyCase(name, (random) => {
    const inputs = random.values(m * k, x)
    const weights = random.values(n * k, weight)
    const biases = bias ? random.values(n, bias) : null
    return {
      run(device) {
        using scope = new Scope(device)
        const placed = scope.matrix(out, m, n, null, gap)
        const left = scope.matrix(x, m, k, inputs, gap)
        const right = scope.matrix(weight, n, k, weights, gap)
        linear(placed.view, left.view, right.view, biases ? scope.vector(bias!, biases) : undefined)
        return { out: placed.read() }
      },
      reference: () => ({ out: reference.linear(inputs, weights, biases, shape) }),
      // Sums of k products of normal numbers: about √k in size, each with an fp32 error of its own.
      tolerance: { relative: unit[out] + 2 ** -21, absolute: 2 ** -20 * Math.sqrt(k) },
    }
  })
}

/** Every dtype mix on one odd shape; every odd size of M, N and K in two mixes. */
export function linearCases(): OpCase[] {
  const cases: LinearCase[] = []
  for (const x of floats) {
    for (const weight of floats) {
      for (const out of floats) {
        for (const m of [1, 9]) {
          cases.push({ shape: [m, 19, 77], x, weight, out, bias: m === 1 ? weight : null, gap: 3 })
        }
      }
    }
  }
  for (const m of sizes) {
    for (const n of sizes) {
      for (const k of sizes) {
        const shape = [m, n, k] as const
        cases.push({ shape, x: 'fp32', weight: 'bf16', out: 'fp32', bias: null, gap: 0 })
        cases.push({ shape, x: 'bf16', weight: 'bf16', out: 'bf16', bias: 'fp32', gap: 1 })
      }
    }
  }
  for (const [m, n, k] of [
    [2, 70, 1025],
    [70, 40, 2049],
    [300, 33, 1536],
    [1, 1000, 4096],
  ] as const) {
    cases.push({ shape: [m, n, k], x: 'fp32', weight: 'fp16', out: 'fp32', bias: 'bf16', gap: 0 })
  }
  return cases.map(linearCase)
}
