/** Threads that share one allocator: the cached path, pages that come and go, and lines of the ledger that end. */
import { openCaching } from '../../../helpers/memory-testing.js'

test('blocks of four threads never overlap, and everything comes back', () => {
  const caching = openCaching()
  expect(caching.hammer(4, 10_000)).toBe(0)
  const { allocation, allocated_bytes, reserved_bytes } = caching.statistics()
  expect(allocation.all).toMatchObject({ current: 0, allocated: 40_000, freed: 40_000 })
  expect(allocated_bytes.all.current).toBe(0)
  expect(caching.lines()).toEqual([
    expect.objectContaining({ tag: 'workspace.cached', bytes: reserved_bytes.all.current }),
  ])
  caching.check()
  caching.trim(0)
  expect(caching.lines()).toEqual([])
})
