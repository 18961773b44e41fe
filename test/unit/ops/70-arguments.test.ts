import * as ops from '../../../lib/ops/index.js'
import type { Device, DeviceBuffer, FloatDType } from '../../../lib/ops/index.js'
import { loadNative } from '../../../lib/native.js'
import type { NativeOps } from '../../../lib/ops/native.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'
import { refusedWith as refused } from './cpu.js'

let device: Device
let other: Device
const made: DeviceBuffer[] = []

function fp32(shape: readonly number[]): DeviceBuffer<FloatDType> {
  const buffer = device.buffer('fp32', shape)
  made.push(buffer)
  return buffer
}

beforeAll(() => {
  device = ops.Device.open('cpu', { threads: 1 })
  other = ops.Device.open('cpu', { threads: 1 })
})
afterEach(() => {
  for (const buffer of made.splice(0)) buffer.dispose()
  expect(device.ledger()).toEqual([])
})
afterAll(() => {
  device.dispose()
  other.dispose()
  expectNothingLive()
})

describe('shapes that do not fit', () => {
  test('rows and columns', () => {
    refused(() => ops.add(fp32([2, 3]), fp32([3, 3])), 'add', 'y.rows is 2', 'x.rows is 3')
    refused(() => ops.rmsNorm(fp32([2, 3]), fp32([2, 3]), fp32([4]), 1e-5), 'weight.size is 4')
    refused(() => ops.linear(fp32([2, 3]), fp32([2, 4]), fp32([3, 5])), 'x.columns is 4', 5)
    refused(() => ops.linear(fp32([2, 9]), fp32([2, 4]), fp32([3, 4])), 'out.columns is 9', 3)
    refused(() => ops.linear(fp32([2, 3]), fp32([2, 4]), fp32([3, 4]), fp32([2])), 'bias.size is 2')
    refused(() => ops.swiglu(fp32([2, 3]), fp32([2, 5])), 'gateUp.columns is 5', 6)
    refused(() => ops.convert(fp32([2, 3]), fp32([3, 2])), 'out.rows is 2')
    refused(() => ops.headNorm(fp32([2, 3, 4]), fp32([5]), 0), 'weight.size is 5')
    refused(() => ops.headNorm(fp32([2, 3]), fp32([3]), 0), '[2, 3]', '[tokens, heads, dim]')
  })

  test('views that leave their buffer', () => {
    const buffer = fp32([10])
    const view = { buffer, rows: 2, columns: 5 }
    ops.add(view, fp32([2, 5]))
    refused(
      () => ops.add({ ...view, offset: 1 }, view),
      'add.y covers 10 elements from 1 on',
      'holds 10',
    )
    refused(() => ops.add({ ...view, stride: 6 }, view), 'covers 11 elements')
    refused(() => ops.add({ ...view, stride: 4 }, view), 'stride is 4')
    refused(() => ops.add({ ...view, offset: -1 }, view), 'offset is -1')
    refused(() => ops.add({ ...view, offset: 0.5 }, view), 'offset is 0.5')
    for (const rows of [0, -1, NaN, 1.5, 2 ** 31, Infinity, '2' as never, undefined as never]) {
      refused(() => ops.add({ ...view, rows }, view), 'rows')
    }
    refused(() => ops.add({ ...view, rows: 2 ** 31 - 1, stride: 2 ** 31 }, view), 'covers')
  })

  test('what is no buffer', () => {
    for (const nothing of [undefined, null, 3, 'x', {}, { buffer: 1 }, [], { shape: [1] }]) {
      expect(() => ops.add(nothing as never, fp32([1, 1]))).toThrow(ops.OctavoError)
      expect(() => ops.add(fp32([1, 1]), nothing as never)).toThrow(ops.OctavoError)
    }
  })

  test('integers where floats belong', () => {
    using i32 = device.buffer('i32', [1, 2])
    refused(() => ops.add(i32 as never, fp32([1, 2])), 'dtype is "i32"', 'fp32, bf16 or fp16')
  })

  test('buffers of another device, and of none any more', () => {
    using elsewhere = other.buffer('fp32', [1, 2])
    refused(() => ops.add(fp32([1, 2]), elsewhere), 'add.x lies on another device')
    const gone = fp32([1, 2])
    gone.dispose()
    expect(() => ops.add(fp32([1, 2]), gone)).toThrow(
      expect.objectContaining({ code: 'OCTAVO_DISPOSED' }),
    )
  })
})

describe('indices out of range', () => {
  test('rows', () => {
    const from = fp32([3, 2])
    refused(() => ops.gatherRows(fp32([1, 2]), from, [3]), 'rows[0] is 3', '0 to 2')
    refused(() => ops.gatherRows(fp32([1, 2]), from, [-1]), 'rows[0] is -1')
    refused(() => ops.gatherRows(fp32([1, 2]), from, [0, 1]), 'rows.length is 2')
    refused(() => ops.gatherRows(fp32([1, 2]), from, [0.5]), 'rows[0] is 0.5')
    refused(() => ops.embedding(fp32([1, 2]), from as never, from), 'tokens')
    refused(() => ops.embedding(fp32([1, 2]), [2 ** 31], from), 'tokens[0]')
  })

  test('slots', () => {
    const cache = fp32([2, 1, 2, 1, 16, 8])
    const key = fp32([1, 1, 8])
    ops.kvWrite(cache, 0, key, key, [31])
    refused(() => ops.kvWrite(cache, 0, key, key, [32]), 'slots[0] is 32', 31)
    refused(() => ops.kvWrite(cache, 0, key, key, [2 ** 53 - 1]), 'slots[0]')
    refused(() => ops.kvWrite(cache, 0, key, key, [0.5]), 'slots[0] is 0.5')
    refused(() => ops.kvWrite(cache, 0, key, key, [0, 1]), 'slots.length is 2')
    refused(() => ops.kvWrite(cache, 1, key, key, [0]), 'layer is 1', '0 to 0')
    refused(() => ops.kvWrite(cache, -1, key, key, [0]), 'layer is -1')
    refused(() => ops.kvWrite(cache, 0, fp32([1, 2, 8]), key, [0]), 'key.heads is 2')
    refused(() => ops.kvWrite(fp32([2, 1, 2, 1, 17, 8]), 0, key, key, [0]), 'blockSize is 17')
    refused(() => ops.kvWrite(fp32([2, 1, 3, 1, 16, 8]), 0, key, key, [0]), '[2, 1, 3, 1, 16, 8]')
  })
})

describe('attention batches', () => {
  const call = (changes: object, tokens = 3) => {
    const cache = fp32([4, 1, 2, 1, 16, 8])
    cache.fillBytes(0)
    const query = fp32([tokens, 2, 8])
    query.fillBytes(0)
    const options = {
      layer: 0,
      queryStart: [0, 2, 3],
      contextLength: [2, 17],
      blockTable: [0, -1, 1, 2],
    }
    ops.pagedAttention(fp32([tokens, 2, 8]), query, cache, { ...options, ...changes })
  }

  test('what holds is run', () => {
    call({})
    call({}, 5)
    call({ contextLength: [2, 16], blockTable: [0, 3] })
    call({ window: 1, blockTable: [0, -1, -1, 2] }) // the first block is behind the window
  })

  test('what does not is refused', () => {
    refused(() => call({ queryStart: [0, 2] }), 'queryStart.length is 2', 3)
    refused(() => call({ queryStart: [1, 2, 3] }), 'queryStart[0] is 1')
    refused(() => call({ queryStart: [0, 3, 2] }), 'queryStart[2] is 2', 'less than the 3')
    refused(() => call({ queryStart: [0, 2, 4] }), 'ends at 4', '3 tokens')
    refused(() => call({ queryStart: [0, -2, 3] }), 'queryStart[1] is -2')
    refused(() => call({ contextLength: [1, 17] }), 'contextLength[0] is 1', '2 query tokens')
    refused(() => call({ contextLength: [2, 33] }), 'needs 3 blocks', 'has 2')
    refused(() => call({ contextLength: [2, 2 ** 31 - 1] }), 'blocks of 16')
    refused(() => call({ contextLength: [] }), 'names 0 sequences')
    refused(() => call({ blockTable: [0, 0, 1] }), 'blockTable.length is 3')
    refused(() => call({ blockTable: [0, 0, 1, 4] }), 'blockTable[3] is 4', '0 to 3')
    refused(() => call({ blockTable: [-1, 0, 1, 2] }), 'blockTable[0] is -1')
    refused(() => call({ window: -1 }), 'window is -1')
    refused(() => call({ window: 1.5 }), 'window is 1.5')
    refused(() => call({ scale: NaN }), 'scale is nan')
    refused(() => call({ layer: 1 }), 'layer is 1')
  })

  test('heads that share no whole group', () => {
    const cache = fp32([1, 1, 2, 2, 16, 8])
    const query = fp32([1, 3, 8])
    const options = { layer: 0, queryStart: [0, 1], contextLength: [1], blockTable: [0] }
    refused(
      () => ops.pagedAttention(fp32([1, 3, 8]), query, cache, options),
      'query.heads modulo cache.kvHeads is 1',
    )
  })

  test('rope', () => {
    const heads = fp32([2, 1, 4])
    const rope = { positions: [0, 1], inverseFrequencies: [1, 0.1] }
    ops.rope(heads, fp32([2, 1, 4]), rope)
    refused(
      () => ops.rope(heads, fp32([2, 1, 4]), { ...rope, positions: [0] }),
      'positions.length is 1',
    )
    refused(
      () => ops.rope(heads, fp32([2, 1, 4]), { ...rope, inverseFrequencies: [1] }),
      'length is 2',
    )
    refused(() => ops.rope(heads, fp32([2, 1, 8]), rope), 'key.dim is 8')
    refused(
      () => ops.rope(heads, fp32([2, 1, 4]), { ...rope, magnitude: Infinity }),
      'magnitude is inf',
    )
  })
})

describe('sampling parameters', () => {
  const call = (params: object, options = {}) => {
    using logits = device.from('fp32', [1, 4], [1, 2, 3, 4])
    return ops.sample(logits, params, options)
  }

  test('what holds is run', () => {
    expect(call({ temperature: 0 }).tokens[0]).toBe(3)
    expect(call({ temperature: 0 }, { sampled: 2 }).tokens[0]).toBe(1)
  })

  test.each(['temperature', 'topP', 'minP', 'topK', 'repetitionPenalty', 'position'])(
    '%s',
    (name) => {
      for (const value of [-1, NaN, Infinity, '1', 1n, [1]])
        refused(() => call({ [name]: value }), name)
    },
  )

  test('penalties, seeds, histories and biases', () => {
    refused(() => call({ repetitionPenalty: 0 }), 'repetitionPenalty is 0')
    refused(() => call({ frequencyPenalty: NaN }), 'frequencyPenalty is nan')
    refused(() => call({ presencePenalty: -Infinity }), 'presencePenalty is -inf')
    refused(() => call({ seed: 1 }), 'seed is 1', 'bigint')
    refused(() => call({ seed: -1n }), 'seed')
    refused(() => call({ seed: 2n ** 64n }), 'seed')
    refused(() => call({ history: { tokens: [4], counts: [1] } }), 'holds token 4', '0 to 3')
    refused(() => call({ history: { tokens: [1], counts: [] } }), 'historyTokens has 1', 'has 0')
    const twice = { tokens: [1, 2, 1], counts: [1, 1, 1] }
    refused(() => call({ history: twice }), 'holds token 1 at 0 and at 2')
    refused(() => call({ history: { tokens: [1], counts: [-2] } }), 'historyCounts[0] is -2')
    refused(() => call({ bias: { tokens: [1, 1], values: [0, 0] } }), 'holds token 1 at 0 and at 1')
    refused(() => call({ topP: 0 }), 'topP is 0')
    refused(() => call({ topP: 1e-300 }), 'topP is 1e-300')
    refused(() => call({ bias: { tokens: [-1], values: [1] } }), 'holds token -1')
    refused(() => call({ bias: { tokens: [0], values: [NaN] } }), 'biasValues holds NaN')
    refused(() => call({ bias: { tokens: [0, 1], values: [1] } }), 'biasTokens has 2')
  })

  test('counts', () => {
    refused(() => call({}, { sampled: 0 }), 'sampled is 0')
    refused(() => call({}, { sampled: 5 }), 'sampled is 5', 4)
    refused(() => call({}, { topCount: 5 }), 'topCount is 5')
    refused(() => call({}, { topCount: -1 }), 'topCount is -1')
    refused(() => call([{}, {}]), 'params.length is 2', 1)
  })
})

test('the addon itself survives arguments of any kind', () => {
  const native = loadNative().ops
  const junk = [
    undefined,
    null,
    0,
    -1,
    NaN,
    1e300,
    '',
    'cpu',
    true,
    5n,
    Symbol('x'),
    () => 1,
    [],
    {},
  ]
  for (const name of Object.keys(native) as (keyof NativeOps)[]) {
    const callable = (...values: unknown[]): unknown =>
      (native[name] as (...values: unknown[]) => unknown)(...values)
    for (const first of junk) {
      for (const second of junk) {
        if (name === 'close' || name === 'destroyBuffer') continue
        expect(() => callable(first, second)).toThrow()
      }
    }
    expect(() => callable()).toThrow()
  }
  expect(() => native.close({ device: 123456789 })).not.toThrow()
  expect(() => native.destroyBuffer({ buffer: 123456789 })).not.toThrow()
})
