/** Every counter and every figure of fragmentation on cases small enough to be computed by hand. */
import { openCaching, type Caching } from '../../../helpers/memory-testing.js'
import { refusal } from '../../../helpers/refusal.js'

const KiB = 2 ** 10
const MiB = 2 ** 20
const page = 2 * MiB

const take = (caching: Caching, bytes: number): number =>
  caching.allocate(bytes, null, 'session', 1, 'x').id

test('nothing was allocated: every share is 0', () => {
  expect(openCaching().fragmentation()).toEqual({
    ...{ external: 0, reservationWaste: 0, currentSlack: 0, stuckSlack: 0, internal: 0 },
    ...{ unusableShare: 0, largestFreeBytes: 0 },
  })
})

test('counters: now, the most, all that came and all that went', () => {
  const caching = openCaching()
  const [first, second] = [take(caching, 1000), take(caching, 3 * MiB)]
  caching.free(first, null)
  const third = take(caching, 100)
  caching.free(third, null)
  caching.free(second, null)
  take(caching, MiB)
  const statistics = caching.statistics()
  expect(statistics.allocation).toEqual({
    all: { current: 1, peak: 2, allocated: 4, freed: 3 },
    small_pool: { current: 1, peak: 1, allocated: 3, freed: 2 },
    large_pool: { current: 0, peak: 1, allocated: 1, freed: 1 },
  })
  expect(statistics.allocated_bytes).toEqual({
    all: {
      current: MiB,
      peak: 1024 + 3 * MiB,
      allocated: 1024 + 512 + 4 * MiB,
      freed: 1024 + 512 + 3 * MiB,
    },
    small_pool: { current: MiB, peak: MiB, allocated: 1024 + 512 + MiB, freed: 1536 },
    large_pool: { current: 0, peak: 3 * MiB, allocated: 3 * MiB, freed: 3 * MiB },
  })
  expect(statistics.requested_bytes.all).toEqual({
    current: MiB,
    peak: 1000 + 3 * MiB,
    allocated: 1100 + 4 * MiB,
    freed: 1100 + 3 * MiB,
  })
  expect(statistics.segment).toMatchObject({ all: { current: 3 }, small_pool: { current: 1 } })
  expect(statistics.reserved_bytes.all).toEqual({
    current: 3 * page,
    peak: 3 * page,
    allocated: 3 * page,
    freed: 0,
  })
  expect(statistics).toMatchObject({ num_device_alloc: 2, num_device_free: 0, num_ooms: 0 })
  caching.trim(0)
  expect(caching.statistics().reserved_bytes.all).toEqual({
    current: page,
    peak: 3 * page,
    allocated: 3 * page,
    freed: 2 * page,
  })
})

test('active counts what waits for a stream, allocated does not', () => {
  const caching = openCaching()
  const [own, other] = [caching.stream(), caching.stream()]
  const { id } = caching.allocate(3 * MiB, own, 'session', 1, 'x')
  caching.enqueue(other)
  caching.free(id, other)
  const { active, active_bytes, allocation, allocated_bytes } = caching.statistics()
  expect([active.all.current, active_bytes.all.current]).toEqual([1, 3 * MiB])
  expect([allocation.all.current, allocated_bytes.all.current]).toEqual([0, 0])
  expect(caching.fragmentation()).toMatchObject({ currentSlack: 0.25, external: 0 })
})

test('the most that was active at once counts what waited then', () => {
  const caching = openCaching()
  const [own, other] = [caching.stream(), caching.stream()]
  const first = caching.allocate(3 * MiB, own, 'session', 1, 'x')
  caching.enqueue(other)
  caching.free(first.id, other)
  const second = caching.allocate(1000, own, 'session', 1, 'x')
  caching.free(second.id, own)
  caching.advance(other, 1)
  const third = caching.allocate(MiB, own, 'session', 1, 'x') // the first has passed
  const { active, active_bytes, allocation } = caching.statistics()
  expect(active).toEqual({
    all: { current: 1, peak: 2, allocated: 3, freed: 2 },
    small_pool: { current: 1, peak: 1, allocated: 2, freed: 1 },
    large_pool: { current: 0, peak: 1, allocated: 1, freed: 1 },
  })
  expect(active_bytes.all).toMatchObject({ current: MiB, peak: 3 * MiB + 1024 })
  expect(allocation.all.peak).toBe(1)
  caching.free(third.id, own)
  caching.check()
})

test('free pieces on pages with live blocks are stuck; whole free pages are not', () => {
  const caching = openCaching()
  const blocks = [3, 4, 3, 2].map((mib) => take(caching, mib * MiB)) // 12 MiB: six pages
  caching.free(blocks[1]!, null) // from 3 to 7 MiB: page 2 is whole, a MiB on either side is not
  caching.free(blocks[3]!, null) // from 10 to 12 MiB: page 5
  const { inactive_split, inactive_split_bytes } = caching.statistics()
  expect([inactive_split.all.current, inactive_split_bytes.all.current]).toEqual([1, 2 * MiB])
  const fragmentation = caching.fragmentation()
  expect(fragmentation.largestFreeBytes).toBe(4 * MiB)
  expect(fragmentation.external).toBeCloseTo(1 - 4 / 6, 12)
  expect(fragmentation.currentSlack).toBeCloseTo(6 / 12, 12)
  expect(fragmentation.stuckSlack).toBeCloseTo(2 / 12, 12)
  expect(fragmentation.unusableShare).toBeCloseTo((6 - 4) / 12, 12)
  expect(fragmentation.reservationWaste).toBe(0) // all of it was in use at the peak
  expect(fragmentation.internal).toBe(0)
  expect(caching.trim(0)).toBe(2 * page)
  expect(caching.fragmentation().stuckSlack).toBeCloseTo(2 / 8, 12)
})

test('reservation waste is that of the peak, whatever is trimmed later', () => {
  const caching = openCaching()
  const id = take(caching, 3 * MiB)
  expect(caching.fragmentation().reservationWaste).toBeCloseTo(1 - 3 / 4, 12)
  caching.free(id, null)
  caching.trim(0)
  expect(caching.fragmentation()).toMatchObject({ reservationWaste: 0.25, currentSlack: 0 })
})

test('internal fragmentation is what rounding takes', () => {
  const caching = openCaching()
  take(caching, 100)
  take(caching, 1000)
  take(caching, 512)
  expect(caching.fragmentation().internal).toBeCloseTo(1 - 1612 / 2048, 12)
})

test('refusals, retries and waits are counted', () => {
  const caching = openCaching({ limitBytes: 2 * page })
  const small = take(caching, KiB)
  take(caching, page)
  expect(refusal(() => take(caching, page)).code).toBe('OCTAVO_OUT_OF_MEMORY')
  caching.free(small, null)
  take(caching, page)
  expect(caching.statistics()).toMatchObject({
    ...{ num_ooms: 1, num_alloc_retries: 1, num_sync_all_streams: 0 },
    ...{ num_device_alloc: 3, num_device_free: 1 },
  })
})
