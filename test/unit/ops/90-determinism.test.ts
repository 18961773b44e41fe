import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Device, linear, pagedAttention } from '../../../lib/ops/index.js'
import type { FloatDType } from '../../../lib/ops/index.js'
import { attentionCases } from '../../ops-cases/attention.js'
import { fillCache, layPages } from '../../ops-cases/paged.js'
import { Random } from '../../ops-cases/random.js'
import { rmsNormCases, swigluCases } from '../../ops-cases/rows.js'
import { Scope } from '../../ops-cases/scope.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

let two: Device
beforeAll(() => {
  two = Device.open('cpu', { threads: 2 })
})
afterAll(() => {
  two.dispose()
  expectNothingLive()
})

describe('the bits do not depend on the number of threads', () => {
  const some = [
    ...attentionCases().slice(0, 12),
    ...rmsNormCases().slice(-9),
    ...swigluCases().slice(-9),
  ]
  test.each(some.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const expected = one.run(two)
    for (const threads of [1, 3, 7]) {
      using other = Device.open('cpu', { threads })
      expect(one.run(other)).toEqual(expected)
    }
  })
})

describe('the bits of a row do not depend on the batch', () => {
  const shapes = [
    [150, 40, 576],
    [20, 33, 77],
    [9, 300, 2500],
    [70, 5, 1024],
  ] as const
  const dtypes: FloatDType[] = ['fp32', 'bf16', 'fp16']
  test.each(shapes.flatMap((shape) => dtypes.map((dtype) => [shape, dtype] as const)))(
    'linear %p %s',
    ([m, n, k], dtype) => {
      const random = new Random(m * n * k)
      const x = random.values(m * k, 'fp32')
      using scope = new Scope(two)
      const weight = scope.matrix(dtype, n, k, random.values(n * k, dtype), 0)
      const run = (first: number, rows: number): Float32Array => {
        const inputs = scope.matrix('fp32', rows, k, x.subarray(first * k, (first + rows) * k), 0)
        const out = scope.matrix('fp32', rows, n, null, 0)
        linear(out.view, inputs.view, weight.view)
        return out.read()
      }
      const all = run(0, m)
      for (const [first, rows] of [
        [0, 1],
        [m - 1, 1],
        [3, 2],
        [1, 5],
        [0, 8],
      ] as const) {
        expect(run(first, rows)).toEqual(all.slice(first * n, (first + rows) * n))
      }
    },
  )

  test('attention: alone, in a batch, and in chunks', () => {
    const [heads, kvHeads, dim, blockSize] = [6, 2, 24, 16]
    const random = new Random(77)
    const lengths = [50, 17, 90]
    const sequences = lengths.map((contextLength) => ({
      contextLength,
      keys: random.values(contextLength * kvHeads * dim, 'bf16'),
      values: random.values(contextLength * kvHeads * dim, 'bf16'),
      query: random.values(contextLength * heads * dim, 'fp32'),
    }))
    const pages = layPages(lengths, blockSize, random)
    using scope = new Scope(two)
    const shape = { layers: 1, layer: 0, kvHeads, blockSize, dim, dtype: 'bf16' as const }
    const cache = fillCache(scope, shape, pages, sequences)
    const size = heads * dim
    /** Query tokens [begin, end) of each sequence named, in one call. */
    const run = (parts: readonly (readonly [s: number, begin: number, end: number])[]) => {
      const queries = parts.map(([s, begin, end]) => [
        ...sequences[s]!.query.subarray(begin * size, end * size),
      ])
      const starts = [0]
      for (const [, begin, end] of parts) starts.push(starts.at(-1)! + end - begin)
      const tokens = starts.at(-1)!
      const out = scope.heads('fp32', { tokens, heads, dim }, null)
      pagedAttention(
        out.view,
        scope.heads('fp32', { tokens, heads, dim }, queries.flat()).view,
        cache,
        {
          layer: 0,
          queryStart: starts,
          contextLength: parts.map(([, , end]) => end),
          blockTable: parts.flatMap(([s]) => [
            ...pages.table.subarray(s * pages.tableStride, (s + 1) * pages.tableStride),
          ]),
          window: 40,
        },
      )
      const rows = out.read()
      return parts.map((_, i) => rows.slice(starts[i]! * size, starts[i + 1]! * size))
    }
    const whole = run([
      [0, 0, 50],
      [1, 0, 17],
      [2, 0, 90],
    ])
    const [decode] = run([[2, 89, 90]])
    expect(decode).toEqual(whole[2]!.slice(89 * size))
    const chunks = [
      [0, 33],
      [33, 34],
      [34, 90],
    ] as const
    chunks.forEach(([begin, end]) => {
      expect(run([[2, begin, end]])[0]).toEqual(whole[2]!.slice(begin * size, end * size))
    })
    expect(run([[1, 0, 17]])[0]).toEqual(whole[1])
  })
})

test('every instruction set gives the same numbers, to rounding', () => {
  const script = `
    const { ops } = require('node-gyp-build')(process.cwd())
    const device = ops.open({ id: 'cpu', threads: 1 })
    const tensor = (rows, columns, dtype, value) => {
      const bits = dtype === 'fp32' ? Float32Array : Uint16Array
      const host = bits.from({ length: rows * columns }, (_, i) => value(i))
      const buffer = ops.createBuffer({ device, bytes: host.byteLength, tag: 'test' })
      ops.writeBuffer({ buffer, offset: 0, bytes: new Uint8Array(host.buffer) })
      return { buffer, dtype, offset: 0, rows, columns, stride: columns }
    }
    const read = ({ buffer, rows, columns }) => {
      const bytes = new Uint8Array(rows * columns * 4)
      ops.readBuffer({ buffer, offset: 0, bytes })
      return Array.from(new Float32Array(bytes.buffer))
    }
    const results = []
    for (const dtype of ['fp32', 'bf16', 'fp16']) {
      const x = tensor(5, 70, 'fp32', (i) => Math.sin(i))
      const weight = tensor(30, 70, dtype, (i) =>
        dtype === 'fp32' ? Math.cos(i) : (i * 7919) % (dtype === 'bf16' ? 0x4000 : 0x3c00))
      const out = tensor(5, 30, 'fp32', () => 0)
      ops.linear(device, { out, x, weight, bias: null })
      const gated = tensor(5, 15, 'fp32', () => 0)
      ops.swiglu(device, { out: gated, gateUp: out })
      ops.rmsNorm(device, { out, x: out, weight: { buffer: x.buffer, dtype: 'fp32', offset: 0, size: 30 }, epsilon: 1e-5 })
      results.push(...read(out), ...read(gated))
    }
    console.log(JSON.stringify(results))`
  const run = (isa: string): number[] => {
    const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', script], {
      cwd: join(__dirname, '../../..'),
      env: { ...process.env, OCTAVO_CPU_ISA: isa },
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stderr)
    return JSON.parse(stdout) as number[]
  }
  const best = run('')
  expect(best.length).toBe(3 * 5 * 45)
  expect(best.every(Number.isFinite)).toBe(true)
  for (const isa of ['avx2', 'baseline']) {
    run(isa).forEach((value, i) => {
      const allowed = 1e-5 * Math.abs(best[i]!) + 1e-5
      if (Math.abs(value - best[i]!) > allowed)
        throw new Error(`${isa}[${i}]: ${value}, not ${best[i]}`)
    })
  }
})
