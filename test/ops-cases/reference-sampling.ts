/** Sampling from the words of cpp/ops/sampling.h, in fp64, one row at a time. */
import type { SamplingOptions } from '../../lib/ops/index.js'

const word = 0xffffffffn

/** Philox4x32-10 over BigInts: Salmon et al., SC'11. */
export function philox(counter: readonly number[], key: bigint): number[] {
  let [c0, c1, c2, c3] = counter.map(BigInt) as [bigint, bigint, bigint, bigint]
  let k0 = key & word
  let k1 = key >> 32n
  for (let round = 0; round < 10; round++) {
    const a = c0 * 0xd2511f53n
    const b = c2 * 0xcd9e8d57n
    ;[c0, c1, c2, c3] = [(b >> 32n) ^ c1 ^ k0, b & word, (a >> 32n) ^ c3 ^ k1, a & word]
    k0 = (k0 + 0x9e3779b9n) & word
    k1 = (k1 + 0xbb67ae85n) & word
  }
  return [c0, c1, c2, c3].map(Number)
}

export function uniform(seed: bigint, position: number): number {
  return (philox([position, 0, 0, 0], seed)[0]! >>> 8) / 2 ** 24
}

function clean(z: number): number {
  return Number.isNaN(z) ? -Infinity : Math.min(z, 3.4028234663852886e38)
}

/** The logits after bias and penalties. */
export function adjust(logits: ArrayLike<number>, options: SamplingOptions): number[] {
  const z = Array.from(logits, clean)
  const { bias, history } = options
  Array.from(bias?.tokens ?? []).forEach((token, i) => (z[token]! += bias!.values[i]!))
  Array.from(history?.tokens ?? []).forEach((token, i) => {
    const penalty = options.repetitionPenalty ?? 1
    z[token] = z[token]! > 0 ? z[token]! / penalty : z[token]! * penalty
    const count = history!.counts[i]!
    if (count > 0) {
      z[token] -= (options.frequencyPenalty ?? 0) * count + (options.presencePenalty ?? 0)
    }
  })
  return z.map(clean)
}

/** Probabilities of what temperature, top-k, top-p and min-p keep; zero for the rest. Not renormalised. */
export function keep(z: readonly number[], options: SamplingOptions): number[] {
  const best = Math.max(...z)
  const scaled = z.map((value) => (value - best) / (options.temperature ?? 1))
  let order = scaled
    .map((value, token) => ({ value, token }))
    .filter(({ value }) => value > -Infinity)
    .sort((a, b) => b.value - a.value || a.token - b.token)
  if (options.topK) order = order.slice(0, options.topK)
  const weight = (value: number): number => Math.exp(value)
  const total = order.reduce((sum, { value }) => sum + weight(value), 0)
  const topP = options.topP ?? 1
  if (topP < 1) {
    let sum = 0
    const last = order.findIndex(({ value }) => (sum += weight(value) / total) >= topP)
    if (last >= 0) order = order.slice(0, last + 1)
  }
  const kept = new Array<number>(z.length).fill(0)
  for (const { value, token } of order) {
    if (weight(value) >= (options.minP ?? 0)) kept[token] = weight(value)
  }
  return kept
}

/** log-softmax of the logits as they came. */
export function logprobs(logits: ArrayLike<number>): number[] {
  const z = Array.from(logits, clean)
  const largest = Math.max(...z)
  if (largest === -Infinity) return z
  const total = z.reduce((sum, value) => sum + Math.exp(value - largest), 0)
  return z.map((value) => value - largest - Math.log(total))
}

/** The tokens a draw may give when every cumulative probability is off by at most `slack` of the total. */
export function drawable(kept: readonly number[], u: number, slack: number): Set<number> {
  const total = kept.reduce((sum, weight) => sum + weight, 0)
  const tokens = new Set<number>()
  let sum = 0
  kept.forEach((weight, token) => {
    if (weight === 0) return
    const low = sum / total
    sum += weight
    if (u >= low - slack && u < sum / total + slack) tokens.add(token)
  })
  return tokens
}
