/** Ranges of pages on a device: mapped, unmapped and mapped again, within limits, all or nothing. */
import {
  disposeAfter,
  openMemory,
  testing,
  type Memory,
  type Pages,
} from '../helpers/native-testing.js'
import { refusal } from '../helpers/refusal.js'
import { DriverMeter, type DeviceName } from './driver.js'
import { fillDevice, openNearlyFull } from './full-device.js'

const MiB = 2 ** 20
const page = 2 * MiB

const openPages = (memory: Memory, pages: number): Pages =>
  disposeAfter(new testing.Pages(memory, { kind: 'device', region: 'kv', tag: 'kv', pages }))

const held = (memory: Memory): number => memory.statistics('kv').allocatedBytes

export function testPages(device: DeviceName): void {
  test('reserved addresses cost nothing; mapped pages are what the driver counts', () => {
    const memory = openMemory(device)
    openPages(memory, 4).dispose() // the driver's own tables for ranges
    const meter = new DriverMeter(memory, device)
    const range = openPages(memory, 4000)
    meter.expect(0)
    range.map(10, 64)
    range.map(0, 1)
    expect(range.counts()).toEqual({ pages: 4000, mapped: 65, elastic: true, alignment: page })
    expect(held(memory)).toBe(65 * page)
    meter.expect(65 * page)
    range.unmap(20, 10)
    meter.expect(55 * page)
    range.map(20, 10)
    range.map(3000, 100)
    meter.expect(165 * page)
    expect(held(memory)).toBe(165 * page)
    range.check()
    range.dispose()
    meter.expect(0)
    expect(memory.lines()).toEqual([])
    memory.check()
  })

  test('what pages hold stays when their neighbours go and come', () => {
    const memory = openMemory(device)
    const range = openPages(memory, 64)
    const bytes = Uint8Array.from({ length: 3 * page }, (_, index) => (index * 2654435761) >>> 24)
    range.map(0, 64)
    range.write(30.5 * page, bytes) // to the middle of page 33
    range.unmap(0, 30)
    range.unmap(34, 30)
    expect(Buffer.compare(range.read(30.5 * page, bytes.length), bytes)).toBe(0)
    range.map(0, 30)
    range.map(34, 30)
    expect(Buffer.compare(range.read(30.5 * page, bytes.length), bytes)).toBe(0)
    range.write(63 * page, bytes.subarray(0, page))
    expect(Buffer.compare(range.read(63 * page, page), bytes.subarray(0, page))).toBe(0)
    range.dispose()
  })

  test('beyond the limit nothing is mapped, and what is held stays', () => {
    const memory = openMemory(device)
    memory.setLimit('kv', 20 * page)
    const range = openPages(memory, 100)
    range.map(0, 8)
    const meter = new DriverMeter(memory, device)
    const { code, message } = refusal(() => range.map(8, 13))
    expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(message).toMatch(/region kv: asked 26 MiB, holds 16 MiB of its limit 40 MiB/)
    meter.expect(0)
    range.map(8, 12)
    meter.expect(12 * page)
    range.check()
    range.dispose()
  })

  test('a failure on purpose maps nothing, and the next call does', () => {
    const memory = openMemory(device)
    const range = openPages(memory, 100)
    const meter = new DriverMeter(memory, device)
    for (const pages of [1, 64]) {
      memory.failAfter(1)
      expect(refusal(() => range.map(0, pages)).code).toBe('OCTAVO_OUT_OF_MEMORY')
      expect(range.counts().mapped).toBe(0)
      memory.check()
    }
    meter.expect(0)
    range.map(0, 64)
    meter.expect(64 * page)
    range.dispose()
  })

  test('a device that runs out half-way gives back what it had mapped', () => {
    const { memory, freeBytes } = openNearlyFull(device)
    const range = openPages(memory, 1000)
    const giveBack = fillDevice(memory, device, 256 * MiB)
    const before = freeBytes()
    const { code, message } = refusal(() => range.map(0, 500))
    expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(message).toMatch(/asked 1000 MiB of memory of .*, which has .* free of/)
    expect(range.counts().mapped).toBe(0)
    expect(freeBytes()).toBeGreaterThanOrEqual(before - 8 * MiB)
    range.map(100, 32)
    giveBack()
    range.map(0, 100)
    expect(held(memory)).toBe(132 * page)
    range.dispose()
    memory.check()
  })

  test('where pages cannot be mapped singly the range is one allocation, held for life', () => {
    testing.allowPageMapping(false)
    try {
      const memory = openMemory(device)
      const meter = new DriverMeter(memory, device)
      const range = openPages(memory, 64)
      expect(range.counts()).toMatchObject({ mapped: 0, elastic: false })
      expect(range.counts().alignment).toBeGreaterThanOrEqual(256)
      meter.expect(64 * page)
      expect(held(memory)).toBe(64 * page)
      const bytes = Uint8Array.from({ length: 5000 }, (_, index) => index)
      range.map(3, 2)
      range.write(4 * page - 2500, bytes)
      range.unmap(3, 2)
      meter.expect(64 * page)
      range.map(3, 2)
      expect(Buffer.compare(range.read(4 * page - 2500, 5000), bytes)).toBe(0)
      range.check()
      range.dispose()
      meter.expect(0)
    } finally {
      testing.allowPageMapping(true)
    }
  })
}
