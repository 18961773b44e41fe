/** Region pinned: buffers that are given back are kept by size class, within a cap and the region's limit. */
import { openMemory, type Memory } from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'
import { SeededRandom } from '../../helpers/seeded-random.js'
import { loadNative } from '../../../lib/native.js'

const KiB = 1024
const MiB = 2 ** 20

const take = (memory: Memory, bytes: number, owner = 0): number =>
  memory.allocate('pinned', bytes, 'session', owner, 'upload')
const pinnedAlive = (): number => loadNative().liveObjects().pinned
const lines = (memory: Memory): string[] =>
  memory
    .lines()
    .map(({ ownerKind, tag, bytes, count }) => `${ownerKind} ${tag} ${bytes} in ${count}`)

test('nothing is kept until it is asked for', () => {
  const memory = openMemory()
  memory.free(take(memory, 100))
  expect(memory.lines()).toEqual([])
  expect(memory.pinnedKept()).toEqual({ bytes: 0, buffers: 0, reuses: 0 })
  expect(pinnedAlive()).toBe(0)
})

test('sizes are classes: 4 KiB, then four a doubling', () => {
  const memory = openMemory()
  const sizes = [1, 4096, 4097, 5120, 8 * KiB + 1, 30 * KiB, MiB + 1, 7 * MiB + 1, 8 * MiB]
  const held = sizes.map((bytes) => {
    const before = memory.statistics('pinned').allocatedBytes
    const buffer = take(memory, bytes)
    return { buffer, bytes: memory.statistics('pinned').allocatedBytes - before }
  })
  expect(held.map(({ bytes }) => bytes)).toEqual([
    ...[4096, 4096, 5120, 5120, 10 * KiB, 32 * KiB],
    ...[1.25 * MiB, 8 * MiB, 8 * MiB],
  ])
  for (const { buffer } of held) memory.free(buffer)
  memory.check()
})

test('a buffer given back serves the next request of its class, whoever asks, and no other', () => {
  const memory = openMemory()
  memory.keepPinned(MiB)
  memory.free(take(memory, 60 * KiB, 1))
  expect(lines(memory)).toEqual([`engine pinned.kept ${64 * KiB} in 1`])
  expect(pinnedAlive()).toBe(1)

  const other = take(memory, 50 * KiB, 2) // class 56 KiB
  expect(pinnedAlive()).toBe(2)
  const again = take(memory, 64 * KiB, 3)
  expect(pinnedAlive()).toBe(2)
  expect(memory.pinnedKept()).toEqual({ bytes: 0, buffers: 0, reuses: 1 })
  expect(memory.ownerBytes('session', 3)).toBe(64 * KiB)
  expect(memory.statistics('pinned')).toMatchObject({ allocations: 3, frees: 1 })
  memory.check()
  for (const buffer of [other, again]) memory.free(buffer)
  expect(memory.pinnedKept()).toMatchObject({ bytes: 120 * KiB, buffers: 2 })
  memory.check()
  expect(memory.trimPinned(0)).toBe(120 * KiB)
  expect(memory.lines()).toEqual([])
})

test('at most the cap is kept, and a lower cap or a trim gives the largest back first', () => {
  const memory = openMemory()
  memory.keepPinned(100 * KiB)
  const held = [8, 16, 32, 64, 64].map((size) => take(memory, size * KiB))
  for (const buffer of held) memory.free(buffer)
  expect(lines(memory)).toEqual([`engine pinned.kept ${56 * KiB} in 3`]) // 64 more would be 120
  expect(memory.trimPinned(30 * KiB)).toBe(32 * KiB)
  expect(memory.pinnedKept()).toMatchObject({ bytes: 24 * KiB, buffers: 2 })
  memory.keepPinned(8 * KiB)
  expect(memory.pinnedKept()).toMatchObject({ bytes: 8 * KiB, buffers: 1 })
  memory.keepPinned(0)
  expect(memory.lines()).toEqual([])
  memory.check()
})

test('the limit counts what is kept, which gives way to a request', () => {
  const memory = openMemory()
  memory.keepPinned(2 ** 30)
  memory.setLimit('pinned', 100 * KiB)
  for (const buffer of [take(memory, 64 * KiB), take(memory, 32 * KiB)]) memory.free(buffer)
  expect(memory.pinnedKept().bytes).toBe(96 * KiB)
  const small = take(memory, 16 * KiB) // 64 KiB go, 32 KiB may stay
  expect(memory.pinnedKept()).toMatchObject({ bytes: 32 * KiB, buffers: 1 })
  const { code, message } = refusal(() => take(memory, 96 * KiB))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/region pinned: asked 96 KiB, holds 48 KiB of its limit 100 KiB/)
  const large = take(memory, 80 * KiB)
  expect(memory.statistics('pinned')).toMatchObject({
    allocatedBytes: 96 * KiB,
    allocatedPeakBytes: 96 * KiB,
    failures: 1,
  })
  memory.free(small)
  memory.setLimit('pinned', 90 * KiB)
  expect(memory.pinnedKept().bytes).toBe(0)
  memory.free(large)
  memory.setLimit('pinned', 10 * KiB)
  expect(memory.lines()).toEqual([])
  memory.check()
})

test('what is given back above a lowered limit is not kept', () => {
  const memory = openMemory()
  memory.keepPinned(2 ** 30)
  const held = [take(memory, MiB), take(memory, MiB)]
  memory.setLimit('pinned', MiB)
  memory.free(held[0]!)
  expect(memory.pinnedKept().bytes).toBe(0)
  memory.free(held[1]!)
  expect(memory.pinnedKept().bytes).toBe(MiB)
  memory.trimPinned(0)
})

test('a device that refuses is asked again without what is kept', () => {
  const memory = openMemory({ totalBytes: 10 * MiB })
  memory.keepPinned(2 ** 30)
  memory.free(take(memory, 8 * MiB))
  const small = take(memory, 4 * MiB)
  expect(memory.statistics('pinned')).toMatchObject({ allocatedBytes: 4 * MiB, failures: 0 })
  expect(memory.memoryStatistics('pinned').statistics.num_alloc_retries).toBe(1)
  expect(refusal(() => take(memory, 8 * MiB)).message).toMatch(/page-locked host memory/)
  expect(memory.statistics('pinned').failures).toBe(1)
  memory.free(small)
  memory.trimPinned(0)
  memory.check()
})

test('a failure on purpose is one, whatever is kept', () => {
  const memory = openMemory()
  memory.keepPinned(2 ** 30)
  memory.free(take(memory, MiB))
  memory.failAfter(1)
  expect(refusal(() => take(memory, 2 * MiB)).message).toMatch(/made this allocation fail/)
  expect(memory.pinnedKept().bytes).toBe(MiB)
  memory.trimPinned(0)
})

test('statistics: kept bytes are reserved and not active', () => {
  const memory = openMemory()
  memory.keepPinned(2 ** 30)
  const held = take(memory, 3 * MiB - 5)
  for (const size of [1, 5]) memory.free(take(memory, size * MiB))
  const { statistics, fragmentation } = memory.memoryStatistics('pinned')
  expect(statistics.allocation.all).toEqual({ current: 1, peak: 2, allocated: 3, freed: 2 })
  expect(statistics.segment.all.current).toBe(3)
  expect(statistics.reserved_bytes.all.current).toBe(9 * MiB)
  expect(statistics.active_bytes.all).toMatchObject({ current: 3 * MiB, peak: 8 * MiB })
  expect(statistics.requested_bytes.all.current).toBe(3 * MiB - 5)
  expect(statistics.num_device_alloc).toBe(3)
  expect(fragmentation.currentSlack).toBeCloseTo(6 / 9)
  expect(fragmentation.largestFreeBytes).toBe(5 * MiB)
  expect(fragmentation.stuckSlack).toBe(0)
  memory.free(held)
  memory.trimPinned(0)
  const after = memory.memoryStatistics('pinned').statistics
  expect(after.reserved_bytes.all.current).toBe(0)
  expect(after.num_device_free).toBe(3)
})

test('whatever the order, ledger, counters and the device agree, and nothing is left', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new SeededRandom(seed)
    const memory = openMemory()
    const limit = 256 * KiB * random.between(1, 8)
    memory.setLimit('pinned', limit)
    memory.keepPinned(random.between(0, limit))
    const held: number[] = []
    for (let round = 0; round < 300; round++) {
      const dice = random.next()
      if (dice < 0.5) {
        try {
          held.push(take(memory, random.between(1, 128 * KiB), random.between(1, 3)))
        } catch (error) {
          expect(error).toMatchObject({ code: 'OCTAVO_OUT_OF_MEMORY' })
        }
      } else if (dice < 0.9 && held.length > 0) {
        memory.free(held.splice(random.between(0, held.length - 1), 1)[0]!)
      } else if (dice < 0.95) {
        memory.trimPinned(random.between(0, limit))
      } else {
        memory.keepPinned(random.between(0, limit))
      }
      memory.check()
      const { buffers, bytes } = memory.pinnedKept()
      expect(pinnedAlive()).toBe(held.length + buffers)
      expect(memory.statistics('pinned').allocatedBytes).toBeLessThanOrEqual(limit)
      const kept = memory.lines().find(({ tag }) => tag === 'pinned.kept')
      expect(kept?.bytes ?? 0).toBe(bytes)
    }
    for (const buffer of held) memory.free(buffer)
    memory.trimPinned(0)
    expect(memory.lines()).toEqual([])
    memory.dispose()
    expect(pinnedAlive()).toBe(0)
  }
})
