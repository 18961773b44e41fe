/** A block given back is reusable when no stream can touch it any more, and not before. */
import { openCaching, type Caching } from '../../../helpers/memory-testing.js'
import { refusal } from '../../../helpers/refusal.js'

const MiB = 2 ** 20

const take = (caching: Caching, bytes: number, stream: number): { id: number; address: number } =>
  caching.allocate(bytes, stream, 'request', 1, 'x')
const waiting = (caching: Caching): number => {
  const { active, allocation } = caching.statistics()
  return active.all.current - allocation.all.current
}

test('freed on its own stream: reusable there at once, and no event is asked', () => {
  const caching = openCaching()
  const stream = caching.stream()
  const block = take(caching, MiB, stream)
  caching.enqueue(stream)
  caching.free(block.id, stream)
  expect(take(caching, MiB, stream).address).toBe(block.address)
  expect(caching.deviceState().queries).toBe(0)
})

test('another stream never gets it: its work is in no order with what freed it', () => {
  const caching = openCaching()
  const [one, other] = [caching.stream(), caching.stream()]
  const block = take(caching, MiB, one)
  caching.free(block.id, one)
  expect(take(caching, MiB, other).address).not.toBe(block.address)
})

test('freed on another stream: reusable when the event there has passed', () => {
  const caching = openCaching()
  const [own, other] = [caching.stream(), caching.stream()]
  const block = take(caching, 2 * MiB, own)
  caching.enqueue(other)
  caching.free(block.id, other)
  expect(caching.lines()).toMatchObject([{ tag: 'workspace.cached', bytes: 2 * MiB }])
  expect(waiting(caching)).toBe(1)
  caching.check()
  const meanwhile = take(caching, 2 * MiB, own)
  expect(meanwhile.address).not.toBe(block.address)
  caching.advance(other, 1)
  expect(take(caching, 2 * MiB, own).address).toBe(block.address)
  expect(waiting(caching)).toBe(0)
  caching.check()
})

test('recordStream: every stream that used it must have passed', () => {
  const caching = openCaching()
  const [own, second, third] = [caching.stream(), caching.stream(), caching.stream()]
  const block = take(caching, 2 * MiB, own)
  for (const stream of [second, third, second, own]) caching.recordStream(block.id, stream)
  caching.enqueue(second)
  caching.enqueue(third)
  caching.free(block.id, own)
  caching.advance(third, 1)
  expect(take(caching, 2 * MiB, own).address).not.toBe(block.address)
  caching.advance(second, 1)
  expect(take(caching, 2 * MiB, own).address).toBe(block.address)
  caching.check()
})

test('recordStream of what is not handed out is refused', () => {
  const caching = openCaching()
  const { code, message } = refusal(() => caching.recordStream(null, caching.stream()))
  expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(message).toMatch(/recordStream of an address that is not handed out/)
})

test('before it refuses, the allocator waits for what blocks wait for', () => {
  const caching = openCaching({ limitBytes: 4 * MiB })
  const [own, other] = [caching.stream(), caching.stream()]
  const block = take(caching, 4 * MiB, own)
  caching.enqueue(other)
  caching.free(block.id, other)
  expect(take(caching, 4 * MiB, own).address).toBe(block.address)
  expect(caching.statistics()).toMatchObject({ num_sync_all_streams: 1, num_ooms: 0 })
  expect(caching.streamState(other).done).toBe(1)
  caching.check()
})

test('memory moves between streams through the device, after waiting for its own', () => {
  const caching = openCaching({ limitBytes: 4 * MiB })
  const [one, other] = [caching.stream(), caching.stream()]
  const block = take(caching, 4 * MiB, one)
  caching.enqueue(one)
  caching.free(block.id, one)
  caching.free(take(caching, 4 * MiB, other).id, other)
  expect(caching.streamState(one)).toEqual({ enqueued: 1, done: 1, synchronized: 1 })
  expect(caching.statistics()).toMatchObject({ num_alloc_retries: 1, num_device_free: 1 })
  caching.check()
})

test('a stream that ends leaves its memory to the next new one', () => {
  const caching = openCaching()
  const [first, other] = [caching.stream(), caching.stream()]
  const [free, live, waits] = [1, 2, 3].map(() => take(caching, 2 * MiB, first))
  caching.enqueue(first)
  caching.free(free!.id, first)
  caching.recordStream(live!.id, other)
  caching.recordStream(waits!.id, other)
  caching.enqueue(other)
  caching.free(waits!.id, first)
  caching.releaseStream(first)
  caching.check()
  const next = caching.stream()
  expect(take(caching, 2 * MiB, next).address).toBe(free!.address)
  caching.free(live!.id, next)
  caching.advance(other, 1)
  expect(take(caching, 4 * MiB, next).address).toBe(live!.address)
  caching.releaseStream(other)
  caching.check()
})

test('what waited for a stream that ended waits no more', () => {
  const caching = openCaching()
  const [own, other] = [caching.stream(), caching.stream()]
  const block = take(caching, 2 * MiB, own)
  caching.enqueue(other)
  caching.free(block.id, other)
  caching.releaseStream(other)
  expect(waiting(caching)).toBe(0)
  expect(take(caching, 2 * MiB, own).address).toBe(block.address)
  caching.check()
})
