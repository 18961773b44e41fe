import { expectReference } from '../../ops-cases/compare.js'
import type { OpCase } from '../../ops-cases/compare.js'
import { openCpu } from './cpu.js'

/** One test a case: the CPU against fp64, and nothing left behind. */
export function holdCpuToReference(cases: readonly OpCase[]): void {
  const { cpu } = openCpu()
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    expectReference(one, cpu())
  })
}
