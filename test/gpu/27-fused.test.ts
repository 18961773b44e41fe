/** Ops that take several in one pass: fusedLinear beside the CPU's, ropeKvWrite beside its parts on the same card. */
import { fusedCodedCases, fusedLinearCases } from '../ops-cases/fused-linear.js'
import type { FusedCase } from '../ops-cases/fused-linear.js'
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
