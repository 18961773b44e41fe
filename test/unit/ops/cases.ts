import { expectReference } from '../../ops-cases/compare.js'
import type { OpCase } from '../../ops-cases/compare.js'
import { Device } from '../../../lib/ops/index.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

/** One test a case: the CPU against fp64, and nothing left behind. */
export function holdCpuToReference(cases: readonly OpCase[]): void {
  let cpu: Device
  beforeAll(() => {
    cpu = Device.open('cpu')
  })
  afterEach(() => {
    expect(cpu.ledger()).toEqual([])
  })
  afterAll(() => {
    cpu.dispose()
    expectNothingLive()
  })
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    expectReference(one, cpu)
  })
}
