import { Device, cudaStatus, listDevices } from '../../lib/ops/index.js'
import { loadNative } from '../../lib/native.js'
import { useDevices } from './devices.js'

const MiB = 1024 * 1024

describe('the CUDA device', () => {
  const devices = useDevices()

  test('says what it is, and the build what it carries', () => {
    const { info } = devices.cuda
    expect(info.id).toBe('cuda:0')
    expect(info.name).toMatch(/\w/)
    expect(info.computeMajor).toBeGreaterThanOrEqual(8)
    expect(info.multiprocessors).toBeGreaterThan(0)
    expect(info.driverVersion).toBeGreaterThanOrEqual(12000)
    expect(listDevices()).toContainEqual(info)
    const status = cudaStatus()
    expect(status).toMatchObject({ built: true, problem: '' })
    expect(status.runtimeVersion).toBeGreaterThanOrEqual(13000)
    expect(status.architectures).toMatch(/sm_80.*sm_90/)
  })

  test('opens by every name it has', () => {
    for (const id of ['cuda', 'cuda:0', 'auto']) {
      using again = Device.open(id)
      expect(again.info).toEqual(devices.cuda.info)
    }
  })

  test('a device past the last one is refused with the number there are', () => {
    const count = listDevices().length - 1
    expect(() => Device.open(`cuda:${count}`)).toThrow(
      expect.objectContaining({
        code: 'OCTAVO_NO_DEVICE',
        message: expect.stringContaining(`this machine has ${count}`) as string,
      }),
    )
  })

  test('the driver sees memory come and go', () => {
    const size = 256 * MiB
    const before = devices.cuda.memoryUse()
    const buffer = devices.cuda.buffer('u8', size)
    const held = devices.cuda.memoryUse()
    buffer.dispose()
    const after = devices.cuda.memoryUse()
    expect(before.freeBytes - held.freeBytes).toBeGreaterThanOrEqual(size)
    expect(after.freeBytes).toBeGreaterThanOrEqual(before.freeBytes - 2 * MiB)
    expect(held.totalBytes).toBe(before.totalBytes)
    // The driver need not attribute memory to a process (another process-id namespace); if it does, it adds up.
    if (before.processBytes === null) return
    expect(held.processBytes! - before.processBytes).toBe(size)
    expect(after.processBytes).toBe(before.processBytes)
  })

  test('more than the device has is a typed refusal, and the device goes on', () => {
    const { totalBytes } = devices.cuda.memoryUse()
    expect(() => devices.cuda.buffer('u8', totalBytes * 2)).toThrow(
      expect.objectContaining({ code: 'OCTAVO_OUT_OF_MEMORY' }),
    )
    using buffer = devices.cuda.from('i32', 3, [1, 2, 3])
    expect([...buffer.read()]).toEqual([1, 2, 3])
  })

  test('bytes go to the device and come back as they were', () => {
    const bytes = Uint8Array.from({ length: 5 * MiB + 3 }, (_, i) => (i * 2654435761) >>> 24)
    using buffer = devices.cuda.from('u8', bytes.length, bytes)
    expect(Buffer.compare(buffer.read(), bytes)).toBe(0)
    buffer.fillBytes(7)
    expect(buffer.read().every((byte) => byte === 7)).toBe(true)
  })

  test('opening and closing many times leaves nothing', () => {
    const free = (): number => loadNative().memoryUse('cuda:0').freeBytes
    Device.open('cuda:0').dispose()
    const before = free()
    for (let i = 0; i < 50; i++) {
      using device = Device.open('cuda:0')
      device.buffer('fp32', 1000)
    }
    expect(free()).toBeGreaterThanOrEqual(before - 2 * MiB)
  })
})
