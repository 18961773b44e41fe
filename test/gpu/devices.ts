/** The CUDA device under test and the CPU, whose kernels are the definition. */
import { Device } from '../../lib/ops/index.js'
import { expectReference } from '../ops-cases/compare.js'
import type { OpCase } from '../ops-cases/compare.js'
import { expectNothingLive } from '../helpers/nothing-live.js'

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
    expectNothingLive()
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

/** One test a case: CUDA against fp64, to which the CPU is held as well. */
export function holdCuda(devices: Devices, cases: readonly OpCase[]): void {
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    expectReference(one, devices.cuda)
  })
}

/** Throws unless both hold the same bits; far quicker than a deep comparison of a million numbers. */
export function expectSameBits(actual: Float32Array, expected: Float32Array): void {
  if (actual.length !== expected.length) {
    throw new Error(`${actual.length} numbers, expected ${expected.length}`)
  }
  const [left, right] = [actual, expected].map(
    (array) => new Int32Array(array.buffer, array.byteOffset, array.length),
  ) as [Int32Array, Int32Array]
  const at = left.findIndex((bits, i) => bits !== right[i])
  if (at >= 0) throw new Error(`[${at}] is ${actual[at]}, expected ${expected[at]}`)
}
