/** What a captured graph has addressed stays mapped until every graph of its pool is gone. */
import { openCaching, type Caching } from '../../../helpers/memory-testing.js'
import { refusal } from '../../../helpers/refusal.js'

const MiB = 2 ** 20

const take = (caching: Caching, bytes: number, stream: number): { id: number; address: number } =>
  caching.allocate(bytes, stream, 'graph', 1, 'activations')

/** One graph: takes `sizes`, gives them all back before its capture ends. */
function capture(caching: Caching, pool: number, stream: number, sizes: number[]): number[] {
  caching.beginCapture(pool, stream)
  const blocks = sizes.map((bytes) => take(caching, bytes, stream))
  for (const { id } of blocks) caching.free(id, stream)
  caching.endCapture(stream)
  return blocks.map(({ address }) => address)
}

test('a capture takes from its pool, and trim leaves the pool alone until the last release', () => {
  const caching = openCaching()
  const stream = caching.stream()
  const ordinary = take(caching, 4 * MiB, stream)
  const pool = caching.createGraphPool()
  const [address] = capture(caching, pool, stream, [4 * MiB])
  caching.free(ordinary.id, stream)
  expect(caching.trim(0)).toBe(4 * MiB)
  expect(caching.snapshot().map(({ graphPool, mappedPages }) => [graphPool, mappedPages])).toEqual([
    [0, 0],
    [pool, 2],
  ])
  const outside = take(caching, 4 * MiB, stream)
  expect(outside.address).not.toBe(address)
  caching.releaseGraphPool(pool)
  expect(caching.statistics().reserved_bytes.all.current).toBe(4 * MiB)
  caching.check()
})

test('several graphs share a pool: the largest first, and it does not grow', () => {
  const caching = openCaching()
  const stream = caching.stream()
  const pool = caching.createGraphPool()
  const [large] = capture(caching, pool, stream, [16 * MiB, 8 * MiB])
  caching.retainGraphPool(pool)
  const held = caching.statistics().reserved_bytes.all.current
  const [small] = capture(caching, pool, stream, [8 * MiB, 4 * MiB])
  expect(small).toBe(large)
  expect(caching.statistics().reserved_bytes.all.current).toBe(held)
  caching.releaseGraphPool(pool)
  expect(caching.trim(0)).toBe(0)
  caching.releaseGraphPool(pool)
  expect(caching.statistics().reserved_bytes.all.current).toBe(0)
  caching.check()
})

test('memory that outlives its pool is given back when it is freed and trimmed', () => {
  const caching = openCaching()
  const stream = caching.stream()
  const pool = caching.createGraphPool()
  caching.beginCapture(pool, stream)
  const kept = take(caching, 4 * MiB, stream)
  caching.endCapture(stream)
  caching.releaseGraphPool(pool)
  caching.fill(kept.id, 7)
  expect(caching.holds(kept.id, 7)).toBe(true)
  caching.free(kept.id, stream)
  expect(caching.trim(0)).toBe(4 * MiB)
  caching.check()
})

test('while a stream captures, no event is recorded or asked', () => {
  const caching = openCaching()
  const [stream, other] = [caching.stream(), caching.stream()]
  const before = take(caching, 4 * MiB, other)
  caching.enqueue(stream)
  const pool = caching.createGraphPool()
  caching.beginCapture(pool, stream)
  caching.free(before.id, stream)
  take(caching, MiB, other)
  expect(caching.deviceState().queries).toBe(0)
  expect(take(caching, 4 * MiB, other).address).not.toBe(before.address)
  caching.check()
  caching.endCapture(stream)
  caching.advance(stream, 1)
  expect(take(caching, 4 * MiB, other).address).toBe(before.address)
  caching.check()
})

test('pressure during a capture takes pages from streams that do not capture', () => {
  const caching = openCaching({ limitBytes: 8 * MiB })
  const [stream, other] = [caching.stream(), caching.stream()]
  caching.free(take(caching, 8 * MiB, other).id, other)
  const pool = caching.createGraphPool()
  caching.beginCapture(pool, stream)
  const block = take(caching, 6 * MiB, stream)
  expect(caching.streamState(other).synchronized).toBe(1)
  expect(caching.streamState(stream).synchronized).toBe(0)
  caching.free(block.id, stream)
  caching.endCapture(stream)
  caching.check()
})

test('misuse is refused by code', () => {
  const caching = openCaching()
  const [stream, other] = [caching.stream(), caching.stream()]
  const pool = caching.createGraphPool()
  caching.beginCapture(pool, stream)
  const wrong: [() => void, RegExp][] = [
    [() => caching.beginCapture(pool, stream), /already captures into graph pool 1/],
    [() => caching.endCapture(other), /captures into no graph pool/],
    [() => caching.releaseGraphPool(pool), /is being captured into/],
    [() => caching.releaseStream(stream), /end the capture first/],
    [() => caching.retainGraphPool(9), /there is no graph pool 9/],
    [() => caching.beginCapture(9, other), /there is no graph pool 9/],
  ]
  for (const [call, sentence] of wrong) {
    const { code, message } = refusal(call)
    expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(message).toMatch(sentence)
  }
  caching.endCapture(stream)
  caching.releaseGraphPool(pool)
  caching.check()
})
