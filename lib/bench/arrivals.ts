/** When requests come and how long they are. */
import { RandomNumbers } from './random-numbers.js'

/** One request of a workload. */
export interface Arrival {
  /** From the beginning of the run. */
  atMs: number
  inputTokens: number
  outputTokens: number
  /** Equal ids at the same place stand for equal tokens: what prompts have in common at their beginning. */
  blocks: readonly number[]
}

/** Tokens, both ends included; every length between them alike. */
export interface Lengths {
  min: number
  max: number
}

export interface PoissonOptions {
  /** Requests a second, on average. */
  rate: number
  requests: number
  input: Lengths
  output: Lengths
  seed: number
}

/** Lengths of request `index`, which nothing but the seed decides. */
export function lengthsOf(
  { input, output, seed }: Pick<PoissonOptions, 'input' | 'output' | 'seed'>,
  index: number,
): Omit<Arrival, 'atMs'> {
  const random = new RandomNumbers(seed, index)
  const inputTokens = random.integer(input.min, input.max)
  return { inputTokens, outputTokens: random.integer(output.min, output.max), blocks: [] }
}

/** Arrivals that do not know of each other, `rate` a second. The same seed, the same arrivals. */
export function poissonArrivals(options: PoissonOptions): Arrival[] {
  const gaps = new RandomNumbers(options.seed, 0x6761707)
  let atMs = 0
  return Array.from({ length: options.requests }, (_, index) => {
    atMs += (gaps.exponential() * 1000) / options.rate
    return { atMs, ...lengthsOf(options, index) }
  })
}
