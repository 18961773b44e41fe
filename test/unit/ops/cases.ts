import { expectReference } from '../../ops-cases/compare.js'
import type { OpCase } from '../../ops-cases/compare.js'
import { Device, liveObjects } from '../../../lib/ops/index.js'

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
    expect(liveObjects()).toEqual({ engines: 0, devices: 0, buffers: 0 })
  })
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    expectReference(one, cpu)
  })
}
