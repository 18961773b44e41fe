import {
  Device,
  OctavoError,
  cudaStatus,
  liveObjects,
  listDevices,
} from '../../../lib/ops/index.js'
import { loadNative } from '../../../lib/native.js'
import { version } from '../../../package.json'
import { expectNothingLive, nothingLive } from '../../helpers/nothing-live.js'

function codeOf(body: () => unknown): string {
  try {
    body()
  } catch (error) {
    expect(error).toBeInstanceOf(OctavoError)
    return (error as OctavoError).code
  }
  return 'nothing was thrown'
}

describe('opening devices', () => {
  afterEach(() => expectNothingLive())

  test('the addon is of this package', () => {
    const native = loadNative()
    expect(native.version).toBe(version)
    expect(native.buildInfo.compiler).toMatch(/\w+ \d+/)
    expect(native.buildInfo.cuda).toBe(cudaStatus().built)
  })

  test('the CPU is always there and says what it is', () => {
    const [cpu] = listDevices()
    expect(cpu).toMatchObject({ id: 'cpu', computeMajor: 0, computeMinor: 0, driverVersion: 0 })
    expect(cpu!.multiprocessors).toBeGreaterThanOrEqual(1)
    expect(cpu!.totalBytes).toBeGreaterThan(64 * 1024 * 1024)
    expect(cpu!.name.length).toBeGreaterThan(0)
  })

  test('threads are as many as asked for', () => {
    using three = Device.open('cpu', { threads: 3 })
    expect(three.info.multiprocessors).toBe(3)
    using all = Device.open('cpu')
    expect(all.info.multiprocessors).toBe(listDevices()[0]!.multiprocessors)
    expect(liveObjects().devices).toBe(2)
  })

  test.each([-1, 1025, 1.5, NaN, Infinity, '2', null])('%p threads are refused', (threads) => {
    const open = () => Device.open('cpu', { threads: threads as number })
    expect(codeOf(open)).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(open).toThrow('threads')
  })

  test.each(['', 'gpu', 'cuda:', 'cuda:-1', 'cuda:x', 'cuda:99999', 'CPU', 'cpu:0'])(
    'the device "%s" does not exist',
    (id) => {
      expect(codeOf(() => Device.open(id))).toBe('OCTAVO_INVALID_ARGUMENT')
      expect(() => Device.open(id)).toThrow('expected "cpu", "cuda", "cuda:N" or "auto"')
    },
  )

  test('an id that is no string is refused', () => {
    for (const id of [7, null, {}, []]) {
      expect(codeOf(() => Device.open(id as unknown as string))).toBe('OCTAVO_INVALID_ARGUMENT')
    }
  })

  test('a CUDA device that cannot be had says why, in words', () => {
    const { built, problem } = cudaStatus()
    if (problem === '') {
      using device = Device.open('cuda:0')
      expect(device.info.id).toBe('cuda:0')
      return
    }
    const code = codeOf(() => Device.open('cuda:0'))
    const expected = ['OCTAVO_NO_DRIVER', 'OCTAVO_NO_DEVICE', 'OCTAVO_KERNELS_UNAVAILABLE']
    expect(built ? expected : ['OCTAVO_NO_CUDA_BUILD']).toContain(code)
  })

  test('auto always opens something', () => {
    using device = Device.open('auto')
    expect(device.info.id).toMatch(/^(cpu|cuda:\d+)$/)
  })

  test('memory use adds up what was handed out', () => {
    using device = Device.open('cpu')
    const before = device.memoryUse()
    expect(before.processBytes).toBe(0)
    expect(before.freeBytes).toBeLessThanOrEqual(before.totalBytes)
    const buffer = device.buffer('u8', 8 << 20)
    buffer.fillBytes(1)
    expect(device.memoryUse().processBytes).toBe(8 << 20)
    buffer.dispose()
    expect(device.memoryUse().processBytes).toBe(0)
    expect(loadNative().memoryUse('cpu').totalBytes).toBe(before.totalBytes)
  })
})

describe('disposing devices', () => {
  test('takes the buffers along, twice is fine, and later use is refused', () => {
    const device = Device.open('cpu')
    const buffer = device.buffer('fp32', [4])
    expect(liveObjects()).toEqual({ ...nothingLive, devices: 1, buffers: 1, streams: 1 })
    device.dispose()
    device.dispose()
    device[Symbol.dispose]()
    expectNothingLive()
    for (const use of [
      () => device.buffer('fp32', 1),
      () => device.memoryUse(),
      () => device.ledger(),
      () => device.synchronize(),
      () => buffer.read(),
      () => buffer.write([1, 2, 3, 4]),
    ]) {
      expect(codeOf(use)).toBe('OCTAVO_DISPOSED')
    }
    buffer.dispose()
  })

  test('devices are apart: closing one leaves the other', () => {
    using first = Device.open('cpu', { threads: 1 })
    const second = Device.open('cpu', { threads: 1 })
    using buffer = first.from('i32', 3, [1, 2, 3])
    second.dispose()
    expect(Array.from(buffer.read())).toEqual([1, 2, 3])
  })
})
