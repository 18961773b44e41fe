/** A device on which something else has taken nearly everything. */
import { loadNative } from '../../lib/native.js'
import { openMemory, type Memory } from '../helpers/native-testing.js'
import type { DeviceName } from './driver.js'

const MiB = 2 ** 20
const standIn = 4096 * MiB // bytes of the device that stands in for the CPU, whose memory the tests cannot use up

/** Memory that can be used up: the card's, or a device of 4 GiB that holds nothing it is not asked to touch. */
export function openNearlyFull(device: DeviceName): { memory: Memory; freeBytes: () => number } {
  const memory = openMemory(device === 'cpu' ? { totalBytes: standIn } : device)
  return { memory, freeBytes: () => freeOn(memory, device) }
}

function freeOn(memory: Memory, device: DeviceName): number {
  if (device === 'cpu') return standIn - memory.statistics('workspace').deviceBytes
  return loadNative().memoryUse(device).freeBytes
}

/** Takes all but so many bytes; returns the allocation, to be freed. */
export function fillDevice(memory: Memory, device: DeviceName, leave: number): number {
  const bytes = Math.floor((freeOn(memory, device) - leave) / 512) * 512
  return memory.allocate('workspace', bytes, 'engine', 0, 'another')
}
