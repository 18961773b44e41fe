/** Cases of `sample`, for any device: each run is checked against the definition, boundaries allowed for. */
import { sample } from '../../lib/ops/index.js'
import type { Device, Samples, SamplingOptions } from '../../lib/ops/index.js'
import { Random } from './random.js'
import * as reference from './reference-sampling.js'
import { Scope } from './scope.js'

export interface SamplingCase {
  name: string
  rows: Float32Array[]
  params: SamplingOptions[]
  sampled: number
  topCount: number
}

/** fp32 sums of a vocabulary's probabilities differ by about this much from exact ones. */
const slack = 1e-5

export function runSampling(
  { rows, params, sampled, topCount }: SamplingCase,
  device: Device,
): Samples {
  using scope = new Scope(device)
  const vocabulary = rows[0]!.length
  const flat = new Float32Array(rows.length * vocabulary)
  rows.forEach((row, r) => flat.set(row, r * vocabulary))
  const logits = scope.buffer('fp32', [rows.length, vocabulary], flat)
  return sample(logits as Parameters<typeof sample>[0], params, { sampled, topCount })
}

/** Throws unless every row's token, log-probability and top tokens are what the definition gives. */
export function checkSamples(testCase: SamplingCase, samples: Samples): void {
  testCase.rows.forEach((logits, row) => {
    try {
      checkRow(testCase, logits, row, samples)
    } catch (error) {
      throw new Error(`${testCase.name}, row ${row}: ${(error as Error).message}`)
    }
  })
}

function checkRow(
  testCase: SamplingCase,
  logits: Float32Array,
  row: number,
  samples: Samples,
): void {
  const options = testCase.params[row]!
  const token = samples.tokens[row]!
  const logprob = samples.logprobs[row]!
  const allowed = allowedTokens(
    reference.adjust(logits, options).slice(0, testCase.sampled),
    options,
  )
  const logprobs = reference.logprobs(logits)
  if (allowed.size === 0) {
    if (token === 0 && logprob === -Infinity) return
    throw new Error(`nothing can be picked, got ${token} with log-probability ${logprob}`)
  }
  if (!allowed.has(token))
    throw new Error(`picked ${token}, expected one of ${[...allowed].join()}`)
  requireLogprob(logprob, logprobs[token]!)
  checkTop(testCase, logits, logprobs, row, samples)
}

function allowedTokens(z: number[], options: SamplingOptions): Set<number> {
  const largest = Math.max(...z)
  if (largest === -Infinity) return new Set()
  if (options.temperature === 0) return near(z, largest)
  const u = reference.uniform(options.seed ?? 0n, options.position ?? 0)
  const allowed = reference.drawable(reference.keep(z, options), u, slack)
  // A cut may fall beside a token whose share is at the edge: allow the draw for p a hair away, too.
  for (const p of [-slack, slack]) {
    const topP = (options.topP ?? 1) + p
    if ((options.topP ?? 1) < 1) {
      const kept = reference.keep(z, { ...options, topP })
      for (const token of reference.drawable(kept, u, slack)) allowed.add(token)
    }
  }
  return allowed
}

/** The first of the largest; penalties are rounded to fp32 on the device, so ties within that count. */
function near(z: readonly number[], largest: number): Set<number> {
  const first = z.indexOf(largest)
  const close = Math.abs(largest) * 2 ** -22
  return new Set(
    z.flatMap((value, i) =>
      i === first || (value !== largest && largest - value < close) ? [i] : [],
    ),
  )
}

function requireLogprob(got: number, exact: number): void {
  const want = Math.fround(exact)
  if (got === want || Math.abs(got - want) <= 1e-5 + 2 ** -21 * Math.abs(want)) return
  throw new Error(`log-probability ${got}, expected ${want}`)
}

function checkTop(
  { topCount, sampled }: SamplingCase,
  logits: Float32Array,
  logprobs: readonly number[],
  row: number,
  samples: Samples,
): void {
  const clean = Array.from(logits.subarray(0, sampled), (z) => (Number.isNaN(z) ? -Infinity : z))
  const order = clean
    .map((z, token) => ({ z, token }))
    .sort((a, b) => (a.z === b.z ? a.token - b.token : b.z - a.z))
  for (let i = 0; i < topCount; i++) {
    const token = samples.topTokens[row * topCount + i]!
    if (token !== order[i]!.token) {
      throw new Error(`top token ${i} is ${token}, expected ${order[i]!.token}`)
    }
    requireLogprob(samples.topLogprobs[row * topCount + i]!, logprobs[token]!)
  }
}

const kinds: readonly SamplingOptions[] = [
  { temperature: 0 },
  { temperature: 1 },
  { temperature: 0.01 },
  { temperature: 100 },
  { temperature: 1e-38 },
  { temperature: 1e-44, topK: 3, topP: 0.9 },
  { temperature: 0.8, topK: 1 },
  { temperature: 0.8, topK: 40 },
  { temperature: 1, topK: 1000000 },
  { temperature: 1.5, topP: 0.9 },
  { temperature: 1, topP: 1e-30 },
  { temperature: 1, topP: 0.5, topK: 7 },
  { temperature: 1, minP: 0.2 },
  { temperature: 1, minP: 1 },
  { temperature: 1, topK: 50, topP: 0.95, minP: 0.05 },
]

/** Vocabularies of every awkward size; each kind of option with and without penalties and biases. */
export function samplingCases(): SamplingCase[] {
  return [1, 2, 17, 129, 512, 5001, 49152].map((vocabulary, index) => {
    const random = new Random(7000 + index)
    const sampled = vocabulary > 20 ? vocabulary - 3 : vocabulary
    const few = vocabulary > 10000 ? kinds.filter((_, kind) => kind % 3 === 0) : kinds
    const params = few.flatMap((kind) => [
      {
        ...kind,
        seed: BigInt(random.integer(0, 2 ** 31)) << 20n,
        position: random.integer(0, 1000),
      },
      { ...kind, ...penalties(random, vocabulary), seed: 2n ** 64n - 1n, position: 2 ** 32 - 1 },
    ])
    const rows = params.map(() => random.values(vocabulary, 'fp32', 3))
    const topCount = Math.min(20, sampled)
    return { name: `sample from ${vocabulary}`, rows, params, sampled, topCount }
  })
}

function penalties(random: Random, vocabulary: number): SamplingOptions {
  const tokens = random.shuffled(vocabulary).slice(0, 50)
  return {
    history: { tokens, counts: tokens.map(() => random.integer(0, 4)) },
    bias: {
      tokens: tokens.slice(0, 3),
      values: [2.5, -Infinity, -1.5].slice(0, tokens.length),
    },
    repetitionPenalty: 1.3,
    frequencyPenalty: 0.2,
    presencePenalty: 0.4,
  }
}

/** Logits no model should give, and ties. */
export function oddLogitsCases(): SamplingCase[] {
  const rows = [
    [NaN, NaN, NaN, NaN],
    [-Infinity, -Infinity, -Infinity, -Infinity],
    [NaN, 1, NaN, 0],
    [0, Infinity, 3, Infinity],
    [5, 5, 5, 5],
    [-Infinity, -2, NaN, -2],
    [3e38, -3e38, 0, 3e38],
  ].map((row) => Float32Array.from(row))
  return [
    { temperature: 0 },
    { temperature: 1 },
    { temperature: 0.1, topK: 2 },
    { topP: 0.3 },
    { temperature: 1e-42 },
  ].map((options, index) => ({
    name: `sample odd logits ${index}`,
    rows,
    params: rows.map((_, position) => ({ ...options, seed: 9n, position })),
    sampled: 4,
    topCount: 4,
  }))
}
