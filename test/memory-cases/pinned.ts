/** Page-locked buffers on a device: kept, counted, and no memory of the device. */
import { loadNative } from '../../lib/native.js'
import { openMemory } from '../helpers/native-testing.js'
import { DriverMeter, type DeviceName } from './driver.js'

const MiB = 2 ** 20

export function testPinned(device: DeviceName): void {
  test('buffers given back are kept within the cap, serve again, and go when they are trimmed', () => {
    const memory = openMemory(device)
    const meter = new DriverMeter(memory, device)
    const take = (bytes: number): number =>
      memory.allocate('pinned', bytes, 'engine', 0, 'weights.ring')
    const alive = (): number => loadNative().liveObjects().pinned
    memory.keepPinned(32 * MiB)
    const ring = Array.from({ length: 8 }, () => take(8 * MiB))
    expect(alive()).toBe(8)
    for (const slice of ring) memory.free(slice)
    expect(memory.pinnedKept()).toEqual({ bytes: 32 * MiB, buffers: 4, reuses: 0 })
    expect(alive()).toBe(4)
    const again = Array.from({ length: 5 }, () => take(7.5 * MiB))
    expect(memory.pinnedKept()).toEqual({ bytes: 0, buffers: 0, reuses: 4 })
    expect(alive()).toBe(5)
    expect(memory.memoryStatistics('pinned').statistics.num_device_alloc).toBe(9)
    meter.expect(0) // host memory is not the device's
    memory.check()
    for (const slice of again) memory.free(slice)
    expect(memory.trimPinned(8 * MiB)).toBe(24 * MiB)
    expect(memory.trimPinned(0)).toBe(8 * MiB)
    expect(alive()).toBe(0)
    expect(memory.lines()).toEqual([])
  })

  test('a failure on purpose leaves what is kept', () => {
    const memory = openMemory(device)
    memory.keepPinned(32 * MiB)
    memory.free(memory.allocate('pinned', MiB, 'engine', 0, 'upload'))
    memory.failAfter(1)
    expect(() => memory.allocate('pinned', 2 * MiB, 'engine', 0, 'upload')).toThrow(
      expect.objectContaining({ code: 'OCTAVO_OUT_OF_MEMORY' }),
    )
    expect(memory.pinnedKept().bytes).toBe(MiB)
    memory.check()
    memory.trimPinned(0)
  })
}
