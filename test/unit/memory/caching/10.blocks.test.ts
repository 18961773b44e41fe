/** Best fit, split and merge on pages that are mapped as needed. */
import { openCaching, type Caching } from '../../../helpers/memory-testing.js'
import { refusal } from '../../../helpers/refusal.js'

const KiB = 2 ** 10
const MiB = 2 ** 20
const page = 2 * MiB

const take = (caching: Caching, bytes: number, tag = 'x'): { id: number; address: number } =>
  caching.allocate(bytes, null, 'session', 1, tag)
const reserved = (caching: Caching): number => caching.statistics().reserved_bytes.all.current

test('what is handed out is in the ledger under its owner, the rest under the cache', () => {
  const caching = openCaching()
  const { id, address } = take(caching, 1000, 'scratch')
  expect(address % 512).toBe(0)
  expect(caching.lines()).toMatchObject([
    { ownerKind: 'engine', ownerId: 0, tag: 'workspace.cached', bytes: page - 1024, count: 1 },
    { ownerKind: 'session', ownerId: 1, tag: 'scratch', bytes: 1024, count: 1 },
  ])
  expect(caching.deviceState().heldBytes).toBe(page)
  caching.check()
  caching.free(id, null)
  expect(caching.lines()).toMatchObject([{ tag: 'workspace.cached', bytes: page, count: 1 }])
  caching.check()
})

test('eight of 16 MiB, then four of 32 MiB: the second round needs not a page more', () => {
  const caching = openCaching()
  const first = Array.from({ length: 8 }, () => take(caching, 16 * MiB).id)
  expect(reserved(caching)).toBe(128 * MiB)
  for (const id of first) caching.free(id, null)
  const calls = caching.statistics().num_device_alloc
  const second = Array.from({ length: 4 }, () => take(caching, 32 * MiB).id)
  expect(reserved(caching)).toBe(128 * MiB)
  expect(caching.statistics().num_device_alloc).toBe(calls)
  for (const id of second) caching.free(id, null)
  caching.check()
})

test('the best fit is the smallest that is large enough, and the lowest of equals', () => {
  const caching = openCaching()
  const sizes = [160, 32, 96, 32, 64, 32, 96, 32].map((kib) => kib * KiB)
  const blocks = sizes.map((bytes) => take(caching, bytes))
  const rest = [MiB, MiB - 544 * KiB].map((bytes) => take(caching, bytes)) // the page is full
  for (const index of [0, 2, 4, 6]) caching.free(blocks[index]!.id, null)
  expect(take(caching, 68 * KiB).address).toBe(blocks[2]!.address)
  expect(take(caching, 64 * KiB).address).toBe(blocks[4]!.address)
  expect(take(caching, 80 * KiB).address).toBe(blocks[6]!.address)
  expect(take(caching, 156 * KiB).address).toBe(blocks[0]!.address)
  expect(reserved(caching)).toBe(page)
  for (const { id } of rest) caching.free(id, null)
  caching.check()
})

test('of small equals the last given back is the next handed out', () => {
  const caching = openCaching()
  const blocks = Array.from({ length: 6 }, () => take(caching, 8 * KiB))
  for (const index of [2, 0, 4]) caching.free(blocks[index]!.id, null)
  caching.check()
  const again = [8, 7, 6].map((kib) => take(caching, kib * KiB).address)
  expect(again).toEqual([4, 0, 2].map((index) => blocks[index]!.address))
  caching.check()
})

test('free neighbours are one block, across pages too', () => {
  const caching = openCaching()
  const blocks = Array.from({ length: 6 }, () => take(caching, 3 * MiB))
  for (const index of [1, 3, 2]) caching.free(blocks[index]!.id, null)
  const free = caching.snapshot()[0]!.blocks.filter(({ state }) => state === 'free')
  expect(free.map(({ bytes }) => bytes)).toEqual([9 * MiB])
  expect(take(caching, 9 * MiB).address).toBe(blocks[1]!.address)
  caching.check()
})

test('a request grows the free end of what is there, by no page more than it needs', () => {
  const caching = openCaching()
  take(caching, 3 * MiB) // two pages: 1 MiB is left at their end
  const { address } = take(caching, 5 * MiB)
  expect(address).toBe(caching.snapshot()[0]!.blocks[0]!.address + 3 * MiB)
  expect(reserved(caching)).toBe(4 * page)
})

test('small and large requests never share a page', () => {
  const caching = openCaching()
  take(caching, MiB)
  take(caching, MiB + 1)
  expect(caching.snapshot().map((segment) => [segment.class, segment.mappedPages])).toEqual([
    ['small', 1],
    ['large', 1],
  ])
  const { reserved_bytes, allocation } = caching.statistics()
  expect(reserved_bytes.small_pool.current).toBe(page)
  expect(reserved_bytes.large_pool.current).toBe(page)
  expect(allocation.small_pool.allocated).toBe(1)
})

test('trim gives whole free pages back and maps the lowest gap again', () => {
  const caching = openCaching()
  const blocks = Array.from({ length: 5 }, () => take(caching, page))
  for (const index of [1, 3]) caching.free(blocks[index]!.id, null)
  expect(caching.trim(4 * page)).toBe(page)
  expect(reserved(caching)).toBe(4 * page)
  expect(caching.trim(0)).toBe(page)
  expect(caching.deviceState().heldBytes).toBe(3 * page)
  caching.check()
  expect(take(caching, page).address).toBe(blocks[1]!.address)
  expect(take(caching, page).address).toBe(blocks[3]!.address)
  expect(caching.trim(0)).toBe(0)
  caching.check()
})

test('trim keeps the pages of live blocks and the free bytes beside them', () => {
  const caching = openCaching()
  const low = take(caching, 3 * MiB) // pages 0 and 1
  const high = take(caching, 9 * MiB) // from the middle of page 1
  caching.free(low.id, null)
  expect(caching.trim(0)).toBe(page)
  expect(caching.snapshot()[0]!.blocks.slice(0, 2)).toMatchObject([
    { state: 'unmapped', bytes: page },
    { state: 'free', bytes: MiB },
  ])
  caching.check()
  caching.free(high.id, null)
  expect(caching.trim(0)).toBe(5 * page)
  expect(caching.lines()).toEqual([])
  caching.check()
})

test('the region limit is hard; free pages of another class go before it refuses', () => {
  const caching = openCaching()
  caching.setLimit(4 * page)
  const small = take(caching, 100)
  const large = take(caching, 3 * page)
  caching.free(small.id, null)
  expect(refusal(() => take(caching, 2 * page)).code).toBe('OCTAVO_OUT_OF_MEMORY')
  const second = take(caching, page) // the small page made room
  expect(caching.statistics()).toMatchObject({ num_ooms: 1, num_device_free: 1 })
  caching.free(second.id, null)
  caching.free(large.id, null)
  caching.check()
})

test('a refusal says what the cache holds and what the limit said', () => {
  const caching = openCaching({ limitBytes: 4 * page })
  const blocks = Array.from({ length: 3 }, () => take(caching, 1.5 * MiB, 'held'))
  caching.free(blocks[1]!.id, null)
  const { code, message } = refusal(() => take(caching, 7 * MiB, 'too much'))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(
    /region workspace: asked 7 MiB for too much; the cache holds 6 MiB: 3 MiB in 2 allocations, 0 bytes that wait for streams, 3 MiB free, of which the largest block 1\.50 MiB and 3 MiB on pages with live blocks; .*the cache asked 6 MiB more, holds 6 MiB of its limit 8 MiB/,
  )
  expect(caching.statistics().num_ooms).toBe(1)
  caching.check()
})

test('nothing and more than any machine has are refused by code', () => {
  const caching = openCaching()
  expect(refusal(() => take(caching, 0)).code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(refusal(() => take(caching, 2 ** 50)).code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(refusal(() => take(caching, 2 ** 53)).code).toBe('OCTAVO_OUT_OF_MEMORY')
  // And it is forgotten: the device still maps page by page.
  const { id } = take(caching, 3 * MiB)
  expect(reserved(caching)).toBe(2 * page)
  caching.free(id, null)
  expect(caching.trim(0)).toBe(2 * page)
  caching.check()
})

test('what does not match is told by check(), not by the free', () => {
  const wrongSize = openCaching()
  wrongSize.free(take(wrongSize, 1000).id, null, 999)
  expect(refusal(() => wrongSize.check()).message).toMatch(/1000 bytes was given back as 999/)
  const unknown = openCaching()
  unknown.freeAddress(4096)
  const { code, message } = refusal(() => unknown.check())
  expect(code).toBe('OCTAVO_INTERNAL')
  expect(message).toMatch(/1 deallocations did not match; the last: an address .* not handed out/)
})

test('what is still out when the cache goes leaves the ledger with it', () => {
  const caching = openCaching()
  take(caching, 5 * MiB)
  take(caching, 5)
  caching.dispose()
  expect(caching.lines()).toEqual([])
  caching.check()
})

describe('maxSplitSize', () => {
  test('larger requests have pages of their own, that serve only near-equals again', () => {
    const caching = openCaching({ maxSplitSize: 8 * MiB })
    const big = take(caching, 16 * MiB)
    const near = take(caching, 8 * MiB)
    caching.free(big.id, null)
    // Neither a small request nor one of half the size cuts it up.
    expect(take(caching, 4 * MiB).address).not.toBe(big.address)
    expect(take(caching, 8 * MiB).address).not.toBe(big.address)
    expect(take(caching, 15 * MiB).address).toBe(big.address)
    caching.free(near.id, null)
    expect(caching.statistics()).toMatchObject({
      max_split_size: 8 * MiB,
      oversize_allocations: { current: 2, peak: 3, allocated: 4, freed: 2 },
    })
    caching.check()
  })

  test('must leave the small class alone', () => {
    const { code, message } = refusal(() => openCaching({ maxSplitSize: MiB }))
    expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(message).toMatch(/maxSplitSize is 1048576; give 0 or more than 1048576/)
  })
})

describe('a device that cannot map page by page', () => {
  test('gives whole segments, which go back when they are free', () => {
    const caching = openCaching({ elastic: false })
    const small = take(caching, 1000)
    const large = take(caching, 3 * MiB)
    const larger = take(caching, 30 * MiB)
    expect(caching.snapshot().map(({ mappedPages }) => mappedPages)).toEqual([1, 10, 15])
    expect(take(caching, 3 * MiB).address).toBe(large.address + 3 * MiB)
    caching.check()
    caching.free(larger.id, null)
    caching.free(small.id, null)
    expect(caching.trim(0)).toBe(16 * page)
    caching.check()
    expect(caching.deviceState().heldBytes).toBe(10 * page)
  })

  test('is refused past the limit with nothing kept', () => {
    const caching = openCaching({ elastic: false, limitBytes: 10 * page })
    take(caching, 3 * MiB)
    expect(refusal(() => take(caching, 40 * MiB)).code).toBe('OCTAVO_OUT_OF_MEMORY')
    caching.check()
    expect(caching.deviceState().heldBytes).toBe(10 * page)
  })
})
