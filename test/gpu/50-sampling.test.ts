import { sample } from '../../lib/ops/index.js'
import type { SamplingOptions } from '../../lib/ops/index.js'
import { Random } from '../ops-cases/random.js'
import { checkSamples, oddLogitsCases, runSampling, samplingCases } from '../ops-cases/sampling.js'
import { useDevices } from './devices.js'

const devices = useDevices()

test.each([...samplingCases(), ...oddLogitsCases()].map((one) => [one.name, one] as const))(
  '%s',
  (_, one) => {
    checkSamples(one, runSampling(one, devices.cuda))
  },
)

function randomOptions(random: Random, vocabulary: number): SamplingOptions {
  const either = (chance: number, value: number, other: number): number =>
    random.uniform() < chance ? value : other
  const distinct = (count: number): number[] => {
    const tokens = new Set<number>()
    while (tokens.size < count) tokens.add(random.integer(0, vocabulary))
    return [...tokens]
  }
  const seen = distinct(random.integer(1, 200))
  const biased = distinct(random.integer(1, 20))
  return {
    temperature: either(0.2, 0, 0.05 + 2 * random.uniform()),
    topK: either(0.5, 0, random.integer(1, 100)),
    topP: either(0.5, 1, random.uniform()),
    minP: either(0.7, 0, 0.3 * random.uniform()),
    repetitionPenalty: either(0.5, 1, 1.3),
    frequencyPenalty: random.uniform(),
    presencePenalty: random.uniform(),
    seed: BigInt(random.integer(0, 2 ** 31)),
    position: random.integer(0, 100000),
    history: { tokens: seen, counts: seen.map((_, i) => i % 3) },
    bias: { tokens: biased, values: biased.map((_, i) => (i === 0 ? -Infinity : i - 5)) },
  }
}

describe.each([512, 49152, 151936])('a vocabulary of %i', (vocabulary) => {
  test.each(['spread', 'tied'])(
    '%s logits: the tokens and log-probabilities of the CPU',
    (kind) => {
      const random = new Random(vocabulary + kind.length)
      const rows = 24
      const logits = random.values(rows * vocabulary, 'fp32', 4)
      if (kind === 'tied') logits.forEach((value, i) => (logits[i] = Math.round(value)))
      const params = Array.from({ length: rows }, () => randomOptions(random, vocabulary))
      const sampled = vocabulary - 11
      const run = (device: typeof devices.cuda) => {
        using buffer = device.from('fp32', [rows, vocabulary], logits)
        return sample(buffer, params, { sampled, topCount: 20 })
      }
      const [cuda, cpu] = [run(devices.cuda), run(devices.cpu)]
      expect(cuda.tokens).toEqual(cpu.tokens)
      expect(cuda.topTokens).toEqual(cpu.topTokens)
      const isClose = (got: number, want: number): boolean =>
        got === want || Math.abs(got - want) <= 2e-5 * (1 + Math.abs(want))
      for (const name of ['logprobs', 'topLogprobs'] as const) {
        cpu[name].forEach((want, i) => {
          if (!isClose(cuda[name][i]!, want))
            throw new Error(`${name}[${i}] is ${cuda[name][i]}, not ${want}`)
        })
      }
      expect(run(devices.cuda)).toEqual(cuda)
    },
  )
})

test('a row of equal logits, every token kept: the draw is uniform in the id', () => {
  const vocabulary = 151936
  using buffer = devices.cuda.from('fp32', [1, vocabulary], new Float32Array(vocabulary))
  const options = { seed: 9n, position: 3, topP: 0.999 }
  const { tokens } = sample(buffer, options)
  using other = devices.cpu.from('fp32', [1, vocabulary], new Float32Array(vocabulary))
  expect(tokens).toEqual(sample(other, options).tokens)
})
