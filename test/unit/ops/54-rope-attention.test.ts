/** ropeAttention is ropeKvWrite and pagedAttention, which are held to fp64: bit for bit. */
import { ropeAttentionCases } from '../../ops-cases/rope-attention.js'
import { openCpu } from './cpu.js'

const { cpu } = openCpu()

test.each(ropeAttentionCases().map((one) => [one.name, one] as const))('%s', (_, one) => {
  expect(one.together(cpu())).toEqual(one.inTurn(cpu()))
})
