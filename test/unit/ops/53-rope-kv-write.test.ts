/** ropeKvWrite is headNorm, rope and kvWrite, which are held to fp64: bit for bit. */
import { ropeWriteCases } from '../../ops-cases/rope-write.js'
import { openCpu } from './cpu.js'

const { cpu } = openCpu()

test.each(ropeWriteCases().map((one) => [one.name, one] as const))('%s', (_, one) => {
  expect(one.fused(cpu())).toEqual(one.inTurn(cpu()))
})
