/** `addon.testing`: the base and device floors. See cpp/binding/testing/host_calls.cc. */
import { testing } from './native-testing.js'

export interface HostTesting {
  cgroupLimits: (options: { root: string }) => {
    limitBytes: number | null
    usedBytes: number | null
    cores: number | null
  }
  parallelFor: (options: {
    threads: number
    count: number
    grain: number
    failAt: number
    callers: number
  }) => { visits: Int32Array; ranges: [number, number][] }
}

export const hostTesting = testing as unknown as HostTesting
