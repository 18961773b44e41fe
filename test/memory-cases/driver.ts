/** What a device's driver says of this process, beside what octavo counts: shared by the tests of memory on a device. */
import { loadNative } from '../../lib/native.js'
import type { Memory } from '../helpers/native-testing.js'

const MiB = 2 ** 20

/** A device as its name, or the CPU's stand-in of so many bytes. */
export type DeviceName = 'cpu' | 'cuda:0'

/**
 * What the driver keeps for itself as ranges come and go (page tables). The CPU device counts to the byte; NVML and
 * cudaMemGetInfo count whole pages.
 */
export const slackOf = (device: DeviceName): number => (device === 'cpu' ? 0 : 8 * MiB)

/** By process where the driver tells, else all that is in use on the device. */
export function driverBytes(memory: Memory, device: DeviceName): number {
  const { deviceBytes } = memory.statistics('kv')
  if (device === 'cpu' || deviceBytes > 0) return deviceBytes
  const { totalBytes, freeBytes } = loadNative().memoryUse(device)
  return totalBytes - freeBytes
}

/** Expects that the driver has counted so many bytes since `start` was read. */
export class DriverMeter {
  readonly #start: number

  constructor(
    readonly memory: Memory,
    readonly device: DeviceName,
  ) {
    this.#start = driverBytes(memory, device)
  }

  get bytes(): number {
    return driverBytes(this.memory, this.device) - this.#start
  }

  expect(bytes: number): void {
    const counted = this.bytes
    const slack = slackOf(this.device)
    expect(counted).toBeGreaterThanOrEqual(bytes - slack)
    expect(counted).toBeLessThanOrEqual(bytes + slack)
  }
}
