/** Calls that would have run, wrongly: misspelled options, missing arguments, memory that is shared. */
import * as ops from '../../../lib/ops/index.js'
import type { DeviceBuffer, FloatDType } from '../../../lib/ops/index.js'
import { refusal } from '../../refusal.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

let device: ops.Device
const made: DeviceBuffer[] = []

function fp32(shape: readonly number[]): DeviceBuffer<FloatDType> {
  const buffer = device.buffer('fp32', shape)
  made.push(buffer)
  buffer.fillBytes(0)
  return buffer
}

beforeAll(() => {
  device = ops.Device.open('cpu', { threads: 1 })
})
afterEach(() => {
  for (const buffer of made.splice(0)) buffer.dispose()
  expect(device.ledger()).toEqual([])
})
afterAll(() => {
  device.dispose()
  expectNothingLive()
})

/** As JavaScript calls them, without types. */
const untyped = ops as unknown as Record<string, (...values: unknown[]) => unknown>
const open = (...values: unknown[]): unknown =>
  (ops.Device.open as (...values: unknown[]) => unknown)(...values)

const refused = (body: () => unknown, sentence: string): void =>
  expect(body).toThrow(refusal('OCTAVO_INVALID_ARGUMENT', sentence))

const unknown = (body: () => unknown, sentence: string): void =>
  expect(body).toThrow(refusal('OCTAVO_UNKNOWN_OPTION', sentence))

const attention = { layer: 0, queryStart: [0, 1], contextLength: [1], blockTable: [0] }
const cache = (): DeviceBuffer<FloatDType> => fp32([1, 1, 2, 1, 16, 8])

test('unknown options are named, with the one that was meant', () => {
  unknown(() => open('cpu', { thread: 1 }), 'unknown option thread; did you mean threads?')
  const logits = (): unknown => fp32([1, 4])
  unknown(() => untyped.sample!(logits(), { tmperature: 1 }), 'params.tmperature; did you mean')
  unknown(() => untyped.sample!(logits(), [{ topk: 1 }]), 'params[0].topk; did you mean')
  unknown(() => untyped.sample!(logits(), {}, { topcount: 4 }), 'topcount; did you mean topCount?')
  unknown(
    () => untyped.sample!(logits(), { history: { tokens: [], count: [] } }),
    'history.count; did you mean history.counts?',
  )
  const heads = (): unknown => fp32([1, 1, 8])
  unknown(
    () => untyped.pagedAttention!(heads(), heads(), cache(), { ...attention, windw: 1 }),
    'windw; did you mean window?',
  )
  unknown(
    () => untyped.rope!(heads(), heads(), { position: [0] }),
    'position; did you mean positions?',
  )
  const view = { buffer: fp32([8]), rows: 1, columns: 4 }
  unknown(() => untyped.add!({ ...view, ofset: 1 }, fp32([1, 4])), 'y.ofset; did you mean y.offset')
  const headsView = { buffer: fp32([8]), tokens: 1, heads: 1, dim: 8, stride: 8 }
  unknown(() => untyped.headNorm!(headsView, fp32([8]), 1e-5), 'unknown option heads.stride')
})

test('arguments that are missing or of another kind', () => {
  refused(() => open('cpu', null), 'options is null')
  refused(() => device.buffer('fp32', null as never), 'the shape is null')
  refused(() => device.buffer('fp32', '4' as never), 'the shape is "4"')
  refused(() => device.buffer('fp32', [1n] as never), 'the shape is [1n]')
  refused(() => device.buffer('fp32', new Array<number>(1)), 'the shape is [undefined]')
  const logits = fp32([1, 4])
  refused(() => untyped.sample!(logits, null), 'params is null')
})

test('options of ops that are missing or of another kind', () => {
  const logits = fp32([1, 4])
  refused(() => untyped.sample!(logits, [null]), 'params[0] is null')
  refused(() => untyped.sample!(logits, {}, null), 'options is null')
  refused(() => untyped.sample!(logits, { bias: 5 }), 'bias is 5')
  refused(() => untyped.sample!(logits, { bias: null }), 'bias is null')
  refused(() => untyped.sample!(logits, { history: {} }), 'history.tokens is undefined')
  refused(() => untyped.sample!(logits, { temperature: null }), 'temperature')
  const [query, key] = [fp32([1, 1, 8]), fp32([1, 1, 8])]
  refused(() => untyped.rope!(query, key), 'inverseFrequencies is undefined')
  refused(() => untyped.rope!(query, key, null), 'options is null')
  refused(() => untyped.pagedAttention!(query, key, cache()), 'queryStart is undefined')
  refused(() => untyped.pagedAttention!(query, key, cache(), null), 'options is null')
  const rope = { positions: [0], inverseFrequencies: [1, 1, NaN, 1] }
  refused(() => ops.rope(query, key, rope), 'inverseFrequencies[2] is NaN')
})

/** ES2024's; TypeScript knows it from `lib` es2024 on. */
const Resizable = ArrayBuffer as unknown as new (
  bytes: number,
  options: { maxByteLength: number },
) => ArrayBuffer & { resize: (bytes: number) => void }

test('values that a buffer would have to bend', () => {
  using i32 = device.from('i32', 3, [1, 2, 3])
  refused(() => i32.write([1.5, NaN, 1e20]), 'values[0] is 1.5: expected a 32-bit integer')
  refused(() => i32.write([1, NaN]), 'values[1] is NaN')
  refused(() => i32.write([1, 2, 2 ** 31]), 'values[2] is 2147483648')
  refused(() => i32.write(['1'] as never), 'values[0] is "1"')
  expect(Array.from(i32.read())).toEqual([1, 2, 3])
  for (const dtype of ['fp32', 'bf16', 'fp16'] as const) {
    using buffer = device.from(dtype, 2, [1, NaN])
    refused(() => buffer.write(['a', {}] as never), 'values[0] is "a": expected a number')
    refused(() => buffer.write([1, {}] as never), 'values[1] is an object (Object)')
    refused(() => buffer.write(new Array<number>(2)), 'values[0] is undefined')
  }
  using buffer = device.from('fp32', 2, [1, 2])
  const detached = Float32Array.of(3, 4)
  structuredClone(detached, { transfer: [detached.buffer] })
  refused(() => buffer.write(detached), 'detached')
  const memory = new Resizable(8, { maxByteLength: 8 })
  const cut = new Float32Array(memory, 0, 2)
  memory.resize(4)
  refused(() => buffer.write(cut), 'detached or out of bounds')
  expect(Array.from(buffer.read())).toEqual([1, 2])
  buffer.write(new Float32Array(0))
  buffer.write([])
})

test('values that do not fill the buffer they are to make', () => {
  refused(() => device.from('fp32', [3], [1, 2]), 'there are 2 values for the 3 elements of shape')
  refused(() => device.from('bf16', [2, 2], new Uint16Array(3)), 'there are 3 values for the 4')
  refused(() => device.from('fp32', [3], []), 'there are 0 values for the 3')
  refused(
    () => device.from('fp32', [1], [1, 2]),
    '2 elements from 0 on do not lie in a buffer of 1',
  )
})

test('arguments that fail when they are looked at', () => {
  const dtype = {
    toString(): never {
      throw new Error('looked at')
    },
  }
  refused(() => device.buffer(dtype as never, 1), 'the dtype is an object (Object)')
  const [x, heads] = [fp32([1, 4]), fp32([1, 1, 8])]
  for (const shape of [5, null, [], 'ab']) {
    refused(() => untyped.linear!({ shape }, x, x), 'out.shape is ')
    refused(() => untyped.rope!({ shape }, heads, { ...rotation }), 'query.shape is ')
    refused(() => untyped.kvWrite!({ shape }, 0, heads, heads, [0]), 'cache.shape is ')
  }
})

const rotation = { positions: [0], inverseFrequencies: [1, 1, 1, 1] }

describe('memory that is shared', () => {
  const view = (buffer: DeviceBuffer<FloatDType>, offset: number, stride = 4): ops.MatrixView => ({
    buffer,
    offset,
    rows: 2,
    columns: 4,
    stride,
  })

  test('an output is no input', () => {
    const a = fp32([4, 4])
    const [w, b] = [fp32([4]), fp32([4, 4])]
    refused(() => ops.gatherRows(a, a, [0, 1, 2, 3]), 'out and from share memory')
    refused(() => ops.embedding(a, [0, 1, 2, 3], a), 'out and table share memory')
    refused(() => ops.convert(a, a), 'out and from share memory')
    refused(() => ops.add(a, a), 'y and x share memory')
    refused(() => ops.linear(a, a, b), 'out and x share memory')
    refused(() => ops.linear(a, b, a), 'out and weight share memory')
    const row = { buffer: w, rows: 1, columns: 4 }
    refused(() => ops.linear(row, fp32([1, 4]), b, w), 'out and bias share memory')
    refused(() => ops.rmsNorm(row, fp32([1, 4]), w, 1e-5), 'out and weight share memory')
    refused(() => ops.addRmsNorm(a, a, b, w, 1e-5), 'out and residual share memory')
    refused(() => ops.addRmsNorm(a, b, b, w, 1e-5), 'residual and x share memory')
    refused(
      () => ops.swiglu(view(a, 0, 8), { buffer: a, rows: 2, columns: 8 }),
      'out and gateUp share memory',
    )
  })

  test('nor are heads and caches', () => {
    const heads = fp32([1, 1, 8])
    const rope = { positions: [0], inverseFrequencies: [1, 1, 1, 1] }
    refused(() => ops.rope(heads, heads, rope), 'query and key share memory')
    refused(() => ops.pagedAttention(heads, heads, cache(), attention), 'out and query share')
    const paged = cache()
    const inside = { buffer: paged, tokens: 1, heads: 1, dim: 8 }
    refused(() => ops.kvWrite(paged, 0, inside, heads, [0]), 'cache and key share memory')
    refused(() => ops.pagedAttention(inside, heads, paged, attention), 'out and cache share memory')
    const norm = { buffer: fp32([16]), tokens: 2, heads: 1, dim: 8 }
    const weight = norm.buffer
    refused(() => ops.headNorm(norm, weight, 1e-5), 'heads and weight share memory')
  })

  test('rows that cross, in strides of their own', () => {
    const a = fp32([32])
    refused(() => ops.convert(view(a, 0), view(a, 7)), 'out and from share memory')
    refused(() => ops.convert(view(a, 0, 8), view(a, 5, 7)), 'out and from share memory')
    refused(
      () => ops.rmsNorm(view(a, 0), view(a, 4), fp32([4]), 1e-5),
      'out and x share memory without being the same elements',
    )
  })

  test('what ops allow, and columns side by side, run', () => {
    const a = fp32([32])
    ops.convert(view(a, 0), view(a, 8))
    ops.add(view(a, 0, 8), view(a, 4, 8))
    ops.gatherRows(view(a, 4, 8), view(a, 0, 8), [1, 0])
    ops.rmsNorm(a, a, fp32([32]), 1e-5)
    ops.rmsNorm(view(a, 0), view(a, 0), fp32([4]), 1e-5)
    ops.addRmsNorm(view(a, 0), view(a, 8), view(a, 0), fp32([4]), 1e-5)
    const qkv = fp32([2, 24])
    const part = { buffer: qkv, tokens: 2, heads: 1, dim: 8, tokenStride: 24 }
    const rope = { positions: [0, 1], inverseFrequencies: [1, 1, 1, 1] }
    ops.rope(part, { ...part, offset: 8 }, rope)
  })

  test('two tokens in one slot', () => {
    const heads = fp32([4, 1, 8])
    const paged = cache()
    refused(
      () => ops.kvWrite(paged, 0, heads, heads, [3, -1, 5, 3]),
      'slots[0] and slots[3] are both 3',
    )
    ops.kvWrite(paged, 0, heads, heads, [3, -1, 5, -1])
  })
})

test('what is no dtype, or no numbers, is refused in a sentence', () => {
  refused(() => untyped.bytesOf!('x'), 'the dtype is "x": expected one of fp32, bf16')
  refused(() => untyped.bytesOf!('toString'), 'the dtype is "toString"')
  for (const name of ['toBf16', 'toFp16', 'fromBf16', 'fromFp16']) {
    refused(() => untyped[name]!(null), 'values is null; it must be an array or a typed array')
    refused(() => untyped[name]!({ length: 1e9 }), 'values is an object (Object)')
  }
  refused(
    () => device.from('u8', 2, [1, 256]),
    'values[1] is 256: expected an integer from 0 to 255',
  )
  refused(() => device.from('u8', 1, [0.5]), 'values[0] is 0.5')
  const words = [1] as unknown as BigInt64Array
  refused(() => device.from('i64', 1, words), 'a i64 buffer is written from a BigInt64Array')
})
