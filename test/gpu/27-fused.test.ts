/** Ops that take several in one pass: fusedLinear beside the CPU's, the others beside their parts on the same card. */
import { fusedCodedCases, fusedLinearCases } from '../ops-cases/fused-linear.js'
import type { FusedCase } from '../ops-cases/fused-linear.js'
import { ropeAttentionCases } from '../ops-cases/rope-attention.js'
import { ropeWriteCases } from '../ops-cases/rope-write.js'
import { useDevices } from './devices.js'

const devices = useDevices()

function expectClose({ fused, tolerance }: FusedCase): void {
  const expected = fused(devices.cpu)
  fused(devices.cuda).forEach((value, i) => {
    const want = expected[i]!
    const allowed = tolerance + Math.abs(want) * 2 ** -7
    if (Math.abs(value - want) <= allowed) return
    throw new Error(`[${i}] is ${value}, expected ${want} ± ${allowed}`)
  })
}

const cases = [...fusedLinearCases(), ...fusedCodedCases()]

test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
  expectClose(one)
})

const floats = ropeWriteCases().filter(({ name }) => !/→ (fp8|int8)/.test(name))

test.each(floats.map((one) => [one.name, one] as const))('ropeKvWrite, %s', (_, one) => {
  expect(one.fused(devices.cuda)).toEqual(one.inTurn(devices.cuda))
})

/** Weights are rounded to 16 bits beside other maxima than in turn; the cache is the same. */
test.each(ropeAttentionCases().map((one) => [one.name, one] as const))(
  'ropeAttention, %s',
  (_, one) => {
    const [together, inTurn] = [one.together(devices.cuda), one.inTurn(devices.cuda)]
    expect(together.cache).toEqual(inTurn.cache)
    for (const name of ['out', 'sums'] as const) {
      together[name].forEach((value, i) => {
        const want = inTurn[name][i]!
        if (Math.abs(value - want) <= 0.01 + Math.abs(want) * 2 ** -6) return
        throw new Error(`${name}[${i}] is ${value}, in turn ${want}`)
      })
    }
  },
)
