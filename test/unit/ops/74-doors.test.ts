/** What octavo/ops exports, called with nothing, with nonsense and with what throws: typed refusals, no effects. */
import * as ops from '../../../lib/ops/index.js'
import { liveObjects } from '../../../lib/ops/index.js'
import { openCpu, refusedWith as refused } from './cpu.js'

const { cpu, zeroed } = openCpu(1)

/** Throws at whatever is read of it, in a sentence that is not ours. */
const throwing = new Proxy(
  {},
  {
    get: () => {
      throw new TypeError('boom')
    },
  },
) as never

/** The first `reads` reads of a property give what the target has, the next one throws. */
function throwingAfter(target: object, reads: number): never {
  let left = reads
  return new Proxy(target, {
    get: (from, name) => {
      if (left-- === 0) throw new TypeError('boom')
      return Reflect.get(from, name, from) as unknown
    },
  }) as never
}

type Callable = (...values: unknown[]) => unknown

describe('fillRandom', () => {
  const call = ops.fillRandom as Callable
  test.each([
    ['nothing', undefined, 'buffer is undefined'],
    ['null', null, 'buffer is null'],
    ['what has a dtype alone', { dtype: 'fp32' }, 'buffer'],
    ['an array', [1], 'buffer'],
    ['what throws', throwing, 'buffer cannot be read: boom'],
  ])('%s', (_, value, words) => refused(() => call(value), words))

  test('a buffer of another dtype', () => {
    refused(() => call(zeroed('i32', [2])), 'buffer.dtype is "i32"', 'fp32, bf16, fp16 or u8')
  })
})

describe('encode and decode', () => {
  const encode = ops.encode as Callable
  const decode = ops.decode as Callable

  test('no dtype, or one that no number is rounded to', () => {
    for (const call of [encode, decode]) {
      refused(() => call(), 'dtype is undefined', 'fp32, bf16, fp16')
      refused(() => call('zz', [1]), 'dtype is "zz"')
      refused(() => call('i32', [1]), 'dtype is "i32"')
    }
  })

  test('no numbers', () => {
    for (const dtype of ['fp32', 'bf16', 'fp16']) {
      for (const call of [encode, decode]) {
        refused(() => call(dtype), 'values is undefined')
        refused(() => call(dtype, null), 'values is null')
        refused(() => call(dtype, ['a']), 'values[0] is "a"', 'a number')
        refused(() => call(dtype, [1, 2n]), 'values[1] is 2n')
        refused(() => call(dtype, new Array(1)), 'values[0] is undefined')
        refused(() => call(dtype, BigInt64Array.of(1n)), 'values', 'array of numbers')
        refused(() => call(dtype, throwingAfter([1], 0)), 'values cannot be read: boom')
      }
    }
  })

  test('numbers of any kind, NaN and infinities too', () => {
    const values = [1, NaN, -Infinity, -0]
    for (const dtype of ['fp32', 'bf16', 'fp16'] as const) {
      for (const given of [values, Float64Array.from(values)])
        expect([...ops.decode(dtype, ops.encode(dtype, given))]).toEqual(values)
    }
  })
})

test('new makes no object, and nothing that is counted', () => {
  const before = liveObjects()
  const classes = [
    [ops.Device, 'Device.open'],
    [ops.DeviceBuffer, 'device.buffer'],
    [ops.QuantizedWeight, 'QuantizedWeight.upload'],
  ] as const
  for (const [made, how] of classes) {
    const Class = made as unknown as new (...values: unknown[]) => unknown
    refused(() => new Class(), `new ${made.name}()`, how)
    refused(() => new Class(1, {}, 'fp32', [1]), how)
  }
  expect(liveObjects()).toEqual(before)
})

test('makers without a device', () => {
  const create = ops.DeviceBuffer.create as Callable
  const upload = ops.QuantizedWeight.upload as Callable
  for (const nothing of [undefined, null, 1, {}]) {
    refused(() => create(nothing, 'fp32', [1], 'tag'), 'the device is')
    refused(() => upload(nothing, {}), 'the device is')
  }
  refused(() => create(throwing, 'fp32', [1], 'tag'), 'the device cannot be read: boom')
})

test('a stored weight without scales, or of a code type that only objects have', () => {
  const stored = { layout: 'rows', codeType: 'i8', rows: 1, columns: 4, codes: new Int8Array(4) }
  const upload = (changes: object): unknown =>
    ops.QuantizedWeight.upload(cpu(), { ...stored, scaleType: 'fp32', ...changes } as never)
  refused(() => upload({}), 'weight.scales is undefined')
  refused(() => upload({ scales: null }), 'weight.scales is null')
  refused(() => upload({ codeType: 'constructor' }), 'weight.codeType is "constructor"')
})

test('a shape whose product is too large', () => {
  refused(() => cpu().buffer('fp32', [2 ** 31, 2 ** 31]), '[2147483648, 2147483648]', 'too large')
  refused(() => cpu().buffer('fp32', [0, 2 ** 53 - 1]), 'expected positive integers')
})

test('arguments that throw at any of their reads', () => {
  const pair = [zeroed('fp32', [2, 4]), zeroed('fp32', [2, 4])] as const
  const views = pair.map((buffer) => ({ buffer, rows: 2, columns: 4 }))
  let refusals = 0
  for (const [out, from] of [pair, views] as const) {
    for (let reads = 0; ; reads++) {
      const codes = [
        [throwingAfter(out, reads), from],
        [out, throwingAfter(from, reads)],
      ].map((both) => {
        try {
          ops.convert(both[0] as never, both[1] as never)
          return 'done'
        } catch (error) {
          return (error as { code?: string }).code
        }
      })
      for (const code of codes) expect(['done', 'OCTAVO_INVALID_ARGUMENT']).toContain(code)
      refusals += codes.filter((code) => code !== 'done').length
      if (codes.every((code) => code === 'done')) break
    }
  }
  expect(refusals).toBeGreaterThan(8)
})

test('every op, with what throws in place of each argument', () => {
  const functions = Object.entries(ops).filter(
    ([name, value]) => typeof value === 'function' && /^[a-z]/.test(name) && name !== 'liveObjects',
  )
  expect(functions.length).toBeGreaterThan(20)
  for (const [name, value] of functions) {
    for (let at = 0; at < 5; at++) {
      const values = Array.from({ length: 5 }, () => zeroed('fp32', [1, 1, 1]) as unknown)
      values[at] = throwing
      let code: unknown = 'done'
      try {
        ;(value as Callable)(...values)
      } catch (error) {
        code = (error as { code?: string }).code ?? String(error)
      }
      expect([name, at, code]).toEqual([
        name,
        at,
        expect.stringMatching(/^(done|OCTAVO_(INVALID_ARGUMENT|UNKNOWN_OPTION))$/),
      ])
    }
  }
})
