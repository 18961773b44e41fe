/** The CPU device of a suite of ops, and what its tests take there: nothing is left after any of them. */
import { Device } from '../../../lib/ops/index.js'
import type { DeviceBuffer, DType } from '../../../lib/ops/index.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

export interface CpuSuite {
  cpu: () => Device
  /** A zeroed buffer that ends with the test that made it. */
  zeroed: <D extends DType>(dtype: D, shape: readonly number[]) => DeviceBuffer<D>
}

/** Opened before the suite's tests, disposed after them. Call it at the top of a suite. */
export function openCpu(threads = 0): CpuSuite {
  const made: { dispose: () => void }[] = []
  let cpu: Device
  beforeAll(() => {
    cpu = Device.open('cpu', { threads })
  })
  afterEach(() => {
    for (const buffer of made.splice(0)) buffer.dispose()
    expect(cpu.ledger()).toEqual([])
  })
  afterAll(() => {
    cpu.dispose()
    expectNothingLive()
  })
  return {
    cpu: () => cpu,
    zeroed: (dtype, shape) => {
      const buffer = cpu.buffer(dtype, shape)
      made.push(buffer)
      buffer.fillBytes(0)
      return buffer
    },
  }
}

/** The call is refused in a sentence that has all of these words. */
export function refusedWith(body: () => unknown, ...words: (string | number)[]): void {
  let message = 'nothing was thrown'
  try {
    body()
  } catch (error) {
    expect(error).toMatchObject({ code: 'OCTAVO_INVALID_ARGUMENT' })
    message = (error as Error).message
  }
  for (const word of words) expect(message).toContain(String(word))
}
