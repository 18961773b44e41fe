/** The n-th call to the device fails, for every n: a typed error, exact books, and the next run works. */
import { openCaching, type Caching } from '../../../helpers/memory-testing.js'
import { refusal } from '../../../helpers/refusal.js'

const MiB = 2 ** 20

/** Small, large and oversize, two streams, a graph; gives everything back. */
function program(caching: Caching): void {
  const [one, other] = [caching.stream(), caching.stream()]
  const taken: number[] = []
  const take = (bytes: number, stream: number): void => {
    taken.push(caching.allocate(bytes, stream, 'session', 1, 'x').id)
  }
  const pool = caching.createGraphPool()
  try {
    take(1000, one)
    take(3 * MiB, one)
    take(3 * MiB, other)
    take(20 * MiB, one)
    caching.beginCapture(pool, other)
    try {
      take(5 * MiB, other)
    } finally {
      caching.endCapture(other)
    }
    take(7 * MiB, other)
  } finally {
    for (const id of taken) caching.free(id, one)
    caching.releaseGraphPool(pool)
    for (const stream of [one, other]) caching.releaseStream(stream)
  }
}

test.each([true, false])('for every n (elastic: %s)', (elastic) => {
  let failing = 1
  for (; ; failing++) {
    const caching = openCaching({ elastic, maxSplitSize: 16 * MiB })
    caching.failAfter(failing)
    let failed = true
    try {
      program(caching)
      failed = false
    } catch (error) {
      expect((error as { code: string }).code).toBe('OCTAVO_OUT_OF_MEMORY')
    }
    caching.failAfter(0)
    caching.check()
    caching.trim(0)
    expect(caching.lines()).toEqual([])
    program(caching)
    caching.trim(0)
    caching.check()
    expect(caching.lines()).toEqual([])
    if (!failed) break
  }
  // Six blocks that grow the cache; where segments come whole, the last finds room in one.
  expect(failing).toBe(elastic ? 7 : 6)
})

test('a device without memory refuses and says so', () => {
  const caching = openCaching({ totalBytes: MiB })
  const { code, message } = refusal(() => caching.allocate(100, null, 'session', 1, 'x'))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/asked 2 MiB of memory of fake:0 .* which has 1 MiB free of 1 MiB/)
  caching.check()
})
