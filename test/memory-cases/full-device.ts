/** A device on which something else has taken nearly everything. */
import { loadNative } from '../../lib/native.js'
import { openMemory, type Memory } from '../helpers/native-testing.js'
import type { DeviceName } from './driver.js'

const MiB = 2 ** 20
const page = 2 * MiB
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

/** null where the device has no piece of that size. */
function tryAllocate(memory: Memory, bytes: number): number | null {
  try {
    return memory.allocate('workspace', bytes, 'engine', 0, 'another')
  } catch (error) {
    if ((error as { code?: string }).code !== 'OCTAVO_OUT_OF_MEMORY') throw error
    return null
  }
}

/**
 * Takes all but so many bytes, in as few pieces as the driver gives them; the result gives them back. The device is asked
 * once: a full one may not even tell.
 */
export function fillDevice(memory: Memory, device: DeviceName, leave: number): () => void {
  const pieces: number[] = []
  let wanted = freeOn(memory, device) - leave
  let largest = wanted
  while (largest >= page) {
    const bytes = Math.floor(Math.min(largest, wanted) / page) * page
    if (bytes < page) break
    const piece = tryAllocate(memory, bytes)
    if (piece === null) {
      largest = bytes / 2
    } else {
      pieces.push(piece)
      wanted -= bytes
    }
  }
  return () => {
    for (const piece of pieces) memory.free(piece)
  }
}
