/** fusedLinear is rmsNorm, linear, and add or swiglu, which are held to fp64: bit for bit. */
import { fusedLinear } from '../../../lib/ops/index.js'
import { fusedCodedCases, fusedLinearCases } from '../../ops-cases/fused-linear.js'
import { Scope } from '../../ops-cases/scope.js'
import { refusal } from '../../refusal.js'
import { openCpu } from './cpu.js'

const { cpu } = openCpu()

const cases = [...fusedLinearCases(), ...fusedCodedCases()]

test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
  expect(one.fused(cpu())).toEqual(one.inTurn(cpu()))
})

test('refuses what does not fit together', () => {
  using scope = new Scope(cpu())
  const x = scope.matrix('bf16', 2, 8, new Float32Array(16)).view
  const weight = scope.matrix('bf16', 6, 8, new Float32Array(48)).view
  const out = scope.matrix('bf16', 2, 6, null).view
  const refused = (run: () => void, words: string): void => {
    expect(run).toThrow(refusal('OCTAVO_INVALID_ARGUMENT', words))
  }
  refused(() => fusedLinear(out, x, weight, { end: 'swiglu' }), '2 * out.columns is 12')
  refused(() => fusedLinear(out, x, weight, { end: 'keep' as 'add' }), 'end is "keep"')
  refused(() => fusedLinear(x, x, weight, { end: 'add' }), 'out and x share memory')
  refused(
    () => fusedLinear(out, x, weight, { norm: scope.vector('bf16', [1, 2]) }),
    'norm.size is 2',
  )
})
