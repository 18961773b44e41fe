import {
  Device,
  OctavoError,
  bytesOf,
  convert,
  fromBf16,
  fromFp16,
  toBf16,
  toFp16,
} from '../../../lib/ops/index.js'
import type { DType } from '../../../lib/ops/index.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

let device: Device
beforeAll(() => {
  device = Device.open('cpu', { threads: 1 })
})
afterEach(() => expect(device.ledger()).toEqual([]))
afterAll(() => {
  device.dispose()
  expectNothingLive()
})

describe('buffers', () => {
  test('hold what was written, in every dtype', () => {
    using fp32 = device.from('fp32', [2, 2], [1, -2, 0.5, NaN])
    using bf16 = device.from('bf16', 2, [1, 0.1])
    using fp16 = device.from('fp16', 2, [1, 0.1])
    using i32 = device.from('i32', 2, Int32Array.of(1, -2147483648))
    using i64 = device.from('i64', 2, BigInt64Array.of(-1n, 2n ** 62n))
    using u8 = device.from('u8', 3, Uint8Array.of(0, 128, 255))
    using bytes = device.from('u8', 2, [7, 255])
    expect(Array.from(fp32.read())).toEqual([1, -2, 0.5, NaN])
    expect(Array.from(bf16.readNumbers())).toEqual([1, 0.10009765625])
    expect(Array.from(fp16.readNumbers())).toEqual([1, 0.0999755859375])
    expect(Array.from(i32.read())).toEqual([1, -2147483648])
    expect(Array.from(i64.read())).toEqual([-1n, 2n ** 62n])
    expect(Array.from(u8.read())).toEqual([0, 128, 255])
    expect(Array.from(bytes.read())).toEqual([7, 255])
  })

  test('are written and read in part', () => {
    using buffer = device.from('i32', 5, [0, 1, 2, 3, 4])
    buffer.write([7, 8], 3)
    expect(Array.from(buffer.read(2))).toEqual([2, 7, 8])
    expect(Array.from(buffer.read(1, 2))).toEqual([1, 2])
    expect(buffer.read(5).length).toBe(0)
    buffer.fillBytes(255)
    expect(Array.from(buffer.read())).toEqual([-1, -1, -1, -1, -1])
  })

  test('are in the ledger under their tag until they are disposed, once', () => {
    const buffer = device.buffer('bf16', [3, 100], 'weights of a test')
    expect(buffer.bytes).toBe(600)
    const [cached, line, ...others] = device.ledger()
    expect(others).toEqual([])
    expect(cached).toMatchObject({ tag: 'workspace.cached', bytes: 2 ** 21 - 1024 })
    expect(line).toMatchObject({
      region: 'workspace',
      tag: 'weights of a test',
      bytes: 1024,
      count: 1,
    })
    buffer.dispose()
    buffer.dispose()
    buffer[Symbol.dispose]()
    expect(() => buffer.read()).toThrow('was disposed')
  })

  const wrong: [string, () => unknown][] = [
    ['no elements', () => device.buffer('fp32', 0)],
    ['an empty shape', () => device.buffer('fp32', [])],
    ['a fraction', () => device.buffer('fp32', [2, 1.5])],
    ['a negative size', () => device.buffer('fp32', [-1])],
    ['NaN', () => device.buffer('fp32', NaN)],
    ['more elements than numbers can count', () => device.buffer('fp32', [2 ** 40, 2 ** 40])],
    ['an unknown dtype', () => device.buffer('fp8' as DType, 1)],
    ['a dtype that is no string', () => device.buffer(3 as unknown as DType, 1)],
    ['too many values', () => device.from('fp32', 1, [1, 2])],
    ['another typed array', () => device.from('fp32', 1, new Int32Array(1) as never)],
    ['no values', () => device.from('fp32', 1, undefined as never)],
  ]
  test.each(wrong)('%s: refused, and nothing kept', (_, body) => {
    expect(body).toThrow(OctavoError)
    expect(body).toThrow(expect.objectContaining({ code: 'OCTAVO_INVALID_ARGUMENT' }))
  })

  test('reading and writing stay inside', () => {
    using buffer = device.buffer('fp32', 4)
    for (const body of [
      () => buffer.read(0, 5),
      () => buffer.read(3, 2),
      () => buffer.read(-1, 1),
      () => buffer.read(0, -1),
      () => buffer.read(5),
      () => buffer.read(0.5, 1),
      () => buffer.read(0, NaN),
      () => buffer.write([1], 4),
      () => buffer.write([1], -1),
      () => buffer.write([1], 0.5),
      () => buffer.write([1], NaN),
      () => buffer.write([1], 2 ** 60),
      () => buffer.fillBytes(256),
      () => buffer.fillBytes(-1),
    ]) {
      expect(body).toThrow(expect.objectContaining({ code: 'OCTAVO_INVALID_ARGUMENT' }))
    }
  })

  test('more than there is: a refusal with the numbers', () => {
    const body = () => device.buffer('u8', 2 ** 50)
    expect(body).toThrow(expect.objectContaining({ code: 'OCTAVO_OUT_OF_MEMORY' }))
  })
})

describe('dtypes', () => {
  test('have their sizes', () => {
    const sizes = (['fp32', 'bf16', 'fp16', 'i32', 'i64', 'u8'] as const).map(bytesOf)
    expect(sizes).toEqual([4, 2, 2, 4, 8, 1])
  })

  test('every fp16 and bf16 there is comes back as it went', () => {
    const every = Uint16Array.from({ length: 65536 }, (_, bits) => bits)
    for (const [decode, encode] of [
      [fromFp16, toFp16],
      [fromBf16, toBf16],
    ] as const) {
      const back = encode(decode(every))
      const numbers = decode(every)
      const changed = every.filter((bits) => back[bits] !== bits && !Number.isNaN(numbers[bits]))
      expect(Array.from(changed)).toEqual([])
      expect(
        decode(back).every((value, bits) => Number.isNaN(value) === Number.isNaN(numbers[bits])),
      ).toBe(true)
    }
  })

  test('round to nearest even, as IEEE 754 has it', () => {
    const hex = (halves: Uint16Array) => Array.from(halves, (half) => half.toString(16))
    expect(
      hex(
        toFp16([65504, 65519.99, 65520, 2 ** -24, 2 ** -25, 2 ** -25 * 1.0001, -0, 1 + 2 ** -11]),
      ),
    ).toEqual(['7bff', '7bff', '7c00', '1', '0', '1', '8000', '3c00'])
    expect(hex(toBf16([1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 3.4e38, -0]))).toEqual([
      '3f80',
      '3f80',
      '3f82',
      '7f80',
      '8000',
    ])
  })

  test('the device rounds as JavaScript does, for every fp16 and its neighbours', () => {
    const every = fromFp16(Uint16Array.from({ length: 65536 }, (_, bits) => bits))
    const near = Array.from(every).flatMap((value) => [
      value,
      value * (1 + 2 ** -11),
      value * (1 + 2 ** -12),
    ])
    const fp32 = Float32Array.from(near).filter((value) => !Number.isNaN(value))
    using from = device.from('fp32', fp32.length, fp32)
    for (const [dtype, encode] of [
      ['fp16', toFp16],
      ['bf16', toBf16],
    ] as const) {
      using out = device.buffer(dtype, fp32.length)
      convert(out, from)
      expect(Buffer.from(out.read().buffer).equals(Buffer.from(encode(fp32).buffer))).toBe(true)
    }
  })
})
