/** What fills a cache: the fused step has the bits of its ops in turn; blocks that are copied have theirs. */
import { copyBlocks } from '../../lib/ops/index.js'
import { Random } from '../ops-cases/random.js'
import { ropeWriteCases } from '../ops-cases/rope-write.js'
import { useDevices } from './devices.js'

const devices = useDevices()

test.each(ropeWriteCases().map((one) => [one.name, one] as const))('ropeKvWrite, %s', (_, one) => {
  expect(one.fused(devices.cuda)).toEqual(one.inTurn(devices.cuda))
})

// Of single bytes and of whole vectors; more copies than one launch takes, and a block of many pieces.
test.each([
  [5, 1200],
  [48, 1100],
  [100_016, 6],
])('copyBlocks: blocks of %i bytes, %i of them', (bytes, blocks) => {
  using cache = devices.cuda.buffer('u8', [blocks, bytes])
  const random = new Random(bytes)
  const before = Uint8Array.from({ length: blocks * bytes }, () => random.integer(0, 256))
  cache.write(before)
  const order = random.shuffled(blocks)
  const half = Math.floor(blocks / 2)
  const copies = order.slice(0, half).map((from, i) => [from, order[half + i]!] as const)
  copyBlocks(cache, cache, copies)
  const expected = before.slice()
  for (const [from, to] of copies) {
    expected.set(before.subarray(from * bytes, (from + 1) * bytes), to * bytes)
  }
  expect(Buffer.compare(cache.read(), expected)).toBe(0)
})
