import { Device, sample } from '../../../lib/ops/index.js'
import { Random } from '../../ops-cases/random.js'
import { philox } from '../../ops-cases/reference-sampling.js'
import {
  checkSamples,
  oddLogitsCases,
  runSampling,
  samplingCases,
} from '../../ops-cases/sampling.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

describe('sampling on the CPU', () => {
  let cpu: Device
  beforeAll(() => {
    cpu = Device.open('cpu')
  })
  afterAll(() => {
    expect(cpu.ledger()).toEqual([])
    cpu.dispose()
    expectNothingLive()
  })

  const cases = [...samplingCases(), ...oddLogitsCases()]
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    checkSamples(one, runSampling(one, cpu))
  })

  test('the generator gives the known answers of the Random123 distribution', () => {
    const ones = 0xffffffff
    expect(philox([0, 0, 0, 0], 0n)).toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8])
    expect(philox([ones, ones, ones, ones], 2n ** 64n - 1n)).toEqual([
      0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
    ])
  })

  test('draws follow the distribution', () => {
    const logits = [0, Math.log(2), Math.log(3), Math.log(4)]
    const counts = [0, 0, 0, 0]
    const draws = 20000
    using buffer = cpu.buffer('fp32', [draws, 4])
    buffer.write(Array.from({ length: draws }, () => logits).flat())
    const params = Array.from({ length: draws }, (_, position) => ({ seed: 42n, position }))
    for (const token of sample(buffer, params).tokens) counts[token]!++
    const chiSquare = counts.reduce((sum, count, token) => {
      const expected = (draws * (token + 1)) / 10
      return sum + (count - expected) ** 2 / expected
    }, 0)
    expect(chiSquare).toBeLessThan(16.27) // 3 degrees of freedom, one in a thousand
  })

  test.each([
    ['spread', (random: Random) => random.normal() * 2],
    ['alike but one', (_: Random, token: number) => (token === 0 ? 1 : 0.3)],
    ['falling', (_: Random, token: number) => -token / 20000],
  ] as const)(
    'the log-sum of 151,936 logits, %s, errs by the rounding of its result',
    (_, logit) => {
      const random = new Random(5)
      const row = Float32Array.from({ length: 151936 }, (_, token) => logit(random, token))
      const params = [{ temperature: 0 }]
      const one = { name: 'wide', rows: [row], params, sampled: row.length, topCount: 20 }
      const { topTokens, topLogprobs } = runSampling(one, cpu)
      const largest = row.reduce((most, z) => Math.max(most, z))
      const total = row.reduce((sum, z) => sum + Math.exp(z - largest), 0)
      topLogprobs.forEach((logprob, i) => {
        const exact = row[topTokens[i]!]! - largest - Math.log(total)
        expect(Math.abs(logprob - exact)).toBeLessThan(1.5e-6) // an fp32 of that size is 10⁻⁶ from the next
      })
    },
  )

  test('a row is drawn alike alone, in a batch and on one thread', () => {
    const random = new Random(3)
    const rows = Array.from({ length: 5 }, () => random.values(1000, 'fp32', 2))
    const params = rows.map((_, position) => ({ temperature: 0.9, topP: 0.9, seed: 7n, position }))
    const one = { name: 'rows', sampled: 1000, topCount: 5, rows, params }
    const together = runSampling(one, cpu)
    using single = Device.open('cpu', { threads: 1 })
    expect(runSampling(one, single)).toEqual(together)
    rows.forEach((row, r) => {
      const alone = runSampling({ ...one, rows: [row], params: [params[r]!] }, cpu)
      expect(alone.tokens[0]).toBe(together.tokens[r])
      expect(alone.logprobs[0]).toBe(together.logprobs[r])
    })
  })
})
