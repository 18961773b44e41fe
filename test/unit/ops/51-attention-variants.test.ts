/** Soft cap, sinks and log-sum-exp against fp64, and what the last is for. */
import { Device, pagedAttention } from '../../../lib/ops/index.js'
import { variantCases } from '../../ops-cases/attention-variants.js'
import { fillCache, layPages } from '../../ops-cases/paged.js'
import { Random } from '../../ops-cases/random.js'
import { Scope } from '../../ops-cases/scope.js'
import { holdCpuToReference } from './cases.js'

holdCpuToReference(variantCases())

describe('a prefix and what follows it, attended apart, are the whole', () => {
  const [heads, kvHeads, dim, blockSize, prefix, length] = [4, 2, 16, 16, 48, 5]
  const contextLength = prefix + length

  test.each([
    [0, 'no sinks'],
    [1, 'sinks, counted in the suffix alone'],
  ])('%i: %s', (withSinks) => {
    using device = Device.open('cpu')
    using scope = new Scope(device)
    const random = new Random(11)
    const values = (tokens: number) => random.values(tokens * kvHeads * dim, 'fp32')
    const [keys, vals] = [values(contextLength), values(contextLength)]
    const cut = (from: number, to: number) => ({
      contextLength: to - from,
      keys: keys.subarray(from * kvHeads * dim, to * kvHeads * dim),
      values: vals.subarray(from * kvHeads * dim, to * kvHeads * dim),
    })
    const shape = { layers: 1, layer: 0, kvHeads, blockSize, dim, dtype: 'fp32' } as const
    const queries = random.values(length * heads * dim, 'fp32')
    const sinks = scope.fp32([heads], random.values(heads, 'fp32'))

    /** Queries of `starts` over a part of the context; every query of the prefix sees all of it. */
    function attend(part: ReturnType<typeof cut>, starts: number[], withSink: boolean) {
      const sequences = starts.length - 1
      const one = layPages([part.contextLength], blockSize, random)
      const cache = fillCache(scope, shape, one, [part])
      const query = scope.heads('fp32', { tokens: length, heads, dim }, queries)
      const out = scope.heads('fp32', { tokens: length, heads, dim }, null)
      const logSumExp = scope.fp32([length, heads], new Float32Array(length * heads))
      pagedAttention(out.view, query.view, cache, {
        layer: 0,
        queryStart: starts,
        contextLength: Array.from({ length: sequences }, () => part.contextLength),
        blockTable: Array.from({ length: sequences }, () => [...one.table]).flat(),
        logSumExp,
        ...(withSink && { sinks }),
      })
      return { out: out.read(), sums: logSumExp.read() }
    }
    const alone = Array.from({ length: length + 1 }, (_, i) => i)
    const before = attend(cut(0, prefix), alone, false)
    const after = attend(cut(prefix, contextLength), [0, length], withSinks === 1)
    const whole = attend(cut(0, contextLength), [0, length], withSinks === 1)
    whole.out.forEach((expected, at) => {
      const row = Math.floor(at / dim)
      const [a, b] = [Math.exp(before.sums[row]!), Math.exp(after.sums[row]!)]
      const merged = (a * before.out[at]! + b * after.out[at]!) / (a + b)
      expect(Math.abs(merged - expected)).toBeLessThan(2e-6)
      expect(Math.abs(Math.log(a + b) - whole.sums[row]!)).toBeLessThan(2e-6)
    })
  })
})
