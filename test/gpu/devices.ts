/** The CUDA device under test and the CPU, whose kernels are the definition. */
import { Device, liveObjects } from '../../lib/ops/index.js'
import { expectReference, expectSameAs } from '../ops-cases/compare.js'
import type { OpCase } from '../ops-cases/compare.js'

export interface Devices {
  readonly cuda: Device
  readonly cpu: Device
}

/** Opens both for the tests of a file and asserts, after every test and at the end, that nothing is left. */
export function useDevices(): Devices {
  const open: { cuda?: Device; cpu?: Device } = {}
  beforeAll(() => {
    open.cuda = Device.open('cuda:0')
    open.cpu = Device.open('cpu')
  })
  afterEach(() => {
    expect(open.cuda!.ledger()).toEqual([])
    expect(open.cpu!.ledger()).toEqual([])
  })
  afterAll(() => {
    open.cuda?.dispose()
    open.cpu?.dispose()
    expect(liveObjects()).toEqual({ engines: 0, devices: 0, buffers: 0 })
  })
  return {
    get cuda() {
      return open.cuda!
    },
    get cpu() {
      return open.cpu!
    },
  }
}

/** One test a case: CUDA against fp64 and against the CPU. */
export function holdCuda(devices: Devices, cases: readonly OpCase[]): void {
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    expectReference(one, devices.cuda)
    expectSameAs(one, devices.cuda, devices.cpu)
  })
}
