/** Whole blocks copied at once, and refusals of what has no order. */
import { copyBlocks, Device, kvBlockBytes } from '../../../lib/ops/index.js'
import { Random } from '../../ops-cases/random.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

let cpu: Device
beforeAll(() => {
  cpu = Device.open('cpu', { threads: 3 })
})
afterEach(() => {
  expect(cpu.ledger()).toEqual([])
})
afterAll(() => {
  cpu.dispose()
  expectNothingLive()
})

const refused = (body: () => void, sentence: string): void =>
  expect(body).toThrow(
    expect.objectContaining({
      code: 'OCTAVO_INVALID_ARGUMENT',
      message: expect.stringContaining(sentence) as string,
    }),
  )

const filled = (length: number, seed: number): Int32Array => {
  const random = new Random(seed)
  return Int32Array.from({ length }, () => random.integer(0, 2 ** 31))
}

test.each([
  [1, 300],
  [64, 700],
  [7001, 40],
])('within a cache: blocks of %i words, %i of them', (words, blocks) => {
  using cache = cpu.buffer('i32', [blocks, words])
  const before = filled(blocks * words, words)
  cache.write(before)
  const order = new Random(blocks).shuffled(blocks)
  const half = Math.floor(blocks / 2)
  const copies = order.slice(0, half).map((from, i) => [from, order[half + i]!] as const)
  copyBlocks(cache, cache, copies)
  const expected = before.slice()
  for (const [from, to] of copies) {
    expected.set(before.subarray(from * words, (from + 1) * words), to * words)
  }
  expect(cache.read()).toEqual(expected)
})

test('to another cache, one block to many places', () => {
  using from = cpu.buffer('fp32', [3, 2, 4])
  using to = cpu.buffer('fp32', [5, 2, 4])
  from.write(Array.from({ length: 24 }, (_, i) => i))
  to.fillBytes(0)
  copyBlocks(to, from, [
    [2, 0],
    [0, 4],
    [2, 3],
  ])
  expect(
    [...to.read()].map((value, i) => (i % 8 === 0 ? value : null)).filter((v) => v !== null),
  ).toEqual([16, 0, 0, 16, 0])
  expect([...to.read(32, 8)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

test('codes go with their scales', () => {
  const shape = {
    dtype: 'int8',
    blocks: 3,
    layers: 1,
    kvHeads: 2,
    blockSize: 16,
    headDim: 8,
  } as const
  const bytes = kvBlockBytes(shape)
  expect(bytes).toBe(2 * 2 * 16 * (8 + 4))
  using buffer = cpu.buffer('u8', [3, bytes])
  buffer.write(Uint8Array.from({ length: 3 * bytes }, (_, i) => (i < bytes ? i % 251 : 0)))
  const cache = { ...shape, buffer }
  copyBlocks(cache, cache, [[0, 2]])
  expect(buffer.read(2 * bytes, bytes)).toEqual(buffer.read(0, bytes))
  expect(buffer.read(bytes, bytes).every((byte) => byte === 0)).toBe(true)
})

test('nothing to copy', () => {
  using cache = cpu.buffer('u8', [2, 16])
  cache.fillBytes(3)
  copyBlocks(cache, cache, [])
  expect(cache.read().every((byte) => byte === 3)).toBe(true)
})

test('refusals name the copies and the blocks', () => {
  using cache = cpu.buffer('fp32', [4, 8])
  using other = cpu.buffer('fp32', [4, 9])
  using bytes = cpu.buffer('u8', [4, 32])
  using flat = cpu.buffer('fp32', [4])
  const copy = (...copies: (readonly [number, number])[]) => copyBlocks(cache, cache, copies)
  refused(() => copy([0, 4]), 'copies[0] names block 4: expected 0 to 3')
  refused(() => copy([0, 1], [-1, 2]), 'copies[1] names block -1')
  refused(() => copy([0, 1], [2, 1]), 'copies[0] and copies[1] both write block 1')
  refused(() => copy([0, 1], [1, 2]), 'copies[1] reads block 1, which copies[0] writes')
  refused(() => copy([0, 0]), 'reads block 0')
  refused(() => copy([0, 0.5]), 'copies[0] is')
  refused(() => copy([0] as never), 'copies[0] is')
  refused(() => copyBlocks(cache, cache, 3 as never), 'copies is 3')
  refused(() => copyBlocks(cache, other, [[0, 1]]), 'a block of to is 32 bytes')
  refused(() => copyBlocks(cache, bytes, [[0, 1]]), 'of "u8"')
  refused(() => copyBlocks(flat, flat, [[0, 1]]), 'has shape [4]')
  refused(() => copyBlocks(cache, null as never, []), 'from is null')
})
