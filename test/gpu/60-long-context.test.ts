import { pagedAttention, type Device } from '../../lib/ops/index.js'
import { Random } from '../ops-cases/random.js'
import { Scope } from '../ops-cases/scope.js'
import { useDevices } from './devices.js'

/** Bytes, the cache of the low-level SDK left out: what an op took lies there for the next one. */
const heldBy = (device: Device): number =>
  device
    .ledger()
    .filter(({ tag }) => tag !== 'workspace.cached')
    .reduce((sum, { bytes }) => sum + bytes, 0)

const devices = useDevices()

const contextLength = 131072
const [heads, dim, blockSize] = [4, 64, 64]
const blocks = contextLength / blockSize

describe('a context of 131072 tokens, with no memory but the cache', () => {
  const random = new Random(5)
  // A repeated pattern with a few large keys far apart, so that the far end of the context matters.
  const pattern = random.values(1 << 16, 'bf16')
  const cacheValues = Float32Array.from(
    { length: blocks * 2 * blockSize * dim },
    (_, i) => pattern[(i * 17 + (i >>> 16)) & 0xffff]!,
  )
  const blockTable = random.shuffled(blocks)

  test.each([1, 20])('%i query tokens', (tokens) => {
    const queries = random.values(tokens * heads * dim, 'bf16')
    const run = (device: typeof devices.cuda): Float32Array => {
      using scope = new Scope(device)
      const cache = scope.buffer('bf16', [blocks, 1, 2, 1, blockSize, dim], cacheValues)
      const query = scope.heads('bf16', { tokens, heads, dim }, queries, 0)
      const out = scope.heads('fp32', { tokens, heads, dim }, null, 0)
      const held = heldBy(device)
      pagedAttention(out.view, query.view, cache, {
        layer: 0,
        queryStart: [0, tokens],
        contextLength: [contextLength],
        blockTable,
      })
      const rows = out.read()
      expect(heldBy(device)).toBe(held)
      return rows
    }
    const [cuda, cpu] = [run(devices.cuda), run(devices.cpu)]
    const largest = Math.max(...cpu.map(Math.abs))
    expect(largest).toBeGreaterThan(0)
    cpu.forEach((want, i) => {
      if (Math.abs(cuda[i]! - want) > 2 ** -8 * largest)
        throw new Error(`[${i}] is ${cuda[i]}, not ${want}`)
    })
  })
})
