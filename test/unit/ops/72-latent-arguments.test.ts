/** Refusals of multi-head latent attention: each names what is wrong and computes nothing. */
import * as ops from '../../../lib/ops/index.js'
import type { DeviceBuffer, FloatDType } from '../../../lib/ops/index.js'
import { openCpu, refusedWith as refused } from './cpu.js'

const { zeroed } = openCpu(1)
const fp32 = (shape: readonly number[]): DeviceBuffer<FloatDType> => zeroed('fp32', shape)

test('rows of a cache', () => {
  const cache = fp32([2, 1, 16, 8])
  const row = fp32([1, 8])
  ops.latentWrite(cache, 0, row, [31])
  ops.latentRead(row, cache, 0, [-1])
  refused(() => ops.latentWrite(cache, 0, row, [32]), 'slots[0] is 32', '31')
  refused(() => ops.latentRead(row, cache, 0, [32]), 'slots[0] is 32', '31')
  refused(() => ops.latentWrite(cache, 0, row, [0, 1]), 'slots.length is 2')
  refused(() => ops.latentWrite(cache, 1, row, [0]), 'layer is 1', '0 to 0')
  refused(() => ops.latentWrite(cache, 0, fp32([1, 7]), [0]), 'rows.columns is 7')
  refused(() => ops.latentRead(fp32([1, 9]), cache, 0, [0]), 'out.columns is 9')
  refused(() => ops.latentWrite(fp32([2, 1, 17, 8]), 0, row, [0]), 'blockSize is 17')
  refused(() => ops.latentWrite(fp32([1, 1, 16, 1025]), 0, row, [0]), 'width is 1025')
  refused(() => ops.latentWrite(fp32([2, 16, 8]), 0, row, [0]), '[2, 16, 8]')
  refused(() => ops.latentWrite(cache, 0, fp32([2, 8]), [3, 3]), 'both 3')
  const inside = { buffer: cache, rows: 1, columns: 8 }
  refused(() => ops.latentWrite(cache, 0, inside, [0]), 'cache and rows share memory')
  refused(() => ops.latentRead(inside, cache, 0, [0]), 'out and cache share memory')
})

describe('latentAttention', () => {
  const call = (changes: object, outDim = 6, queryDim = 8) => {
    const options = {
      layer: 0,
      queryStart: [0, 2, 3],
      contextLength: [2, 17],
      blockTable: [0, -1, 1, 2],
      scale: 1,
    }
    const [out, query] = [fp32([3, 2, outDim]), fp32([3, 2, queryDim])]
    ops.latentAttention(out, query, fp32([4, 1, 16, 8]), { ...options, ...changes })
  }

  test('what holds is run', () => {
    call({})
    call({}, 8)
  })

  test('what does not is refused', () => {
    refused(() => call({}, 9), 'out.dim is 9', '8')
    refused(() => call({}, 6, 7), 'query.dim is 7')
    refused(() => call({ scale: undefined }), 'scale')
    refused(() => call({ scale: NaN }), 'scale is nan')
    refused(() => call({ contextLength: [1, 17] }), 'contextLength[0] is 1')
    refused(() => call({ contextLength: [2, 33] }), 'needs 3 blocks', 'has 2')
    refused(() => call({ blockTable: [0, 0, 1, 4] }), 'blockTable[3] is 4', '0 to 3')
    refused(() => call({ blockTable: [0, 0, 1] }), 'blockTable.length is 3')
    refused(() => call({ queryStart: [0, 2] }), 'queryStart.length is 2')
    expect(() => call({ window: 1 })).toThrow(
      expect.objectContaining({ code: 'OCTAVO_UNKNOWN_OPTION' }),
    )
  })
})

describe('expandedAttention', () => {
  const usual = { queryDim: 8, outDim: 5, both: [9, 2, 10], rope: [9, 3] }
  const call = (changes: object, shapes: Partial<typeof usual> = {}) => {
    const { queryDim, outDim, both, rope } = { ...usual, ...shapes }
    const options = { queryStart: [0, 2, 3], contextLength: [2, 5], keyStart: [7, 0] }
    const [out, query] = [fp32([3, 2, outDim]), fp32([3, 2, queryDim])]
    ops.expandedAttention(out, query, fp32(both), fp32(rope), { ...options, ...changes })
  }

  test('what holds is run', () => {
    call({})
    call({ scale: 2, keyStart: [0, 4] })
  })

  test('what does not is refused', () => {
    refused(() => call({ keyStart: [8, 0] }), 'keyStart[0] is 8', 'ends at 10', '9')
    refused(() => call({ keyStart: [-1, 0] }), 'keyStart[0] is -1')
    refused(() => call({ keyStart: [0] }), 'keyStart.length is 1')
    refused(() => call({ contextLength: [1, 5] }), 'contextLength[0] is 1')
    refused(() => call({}, { both: [9, 3, 10] }), 'keyValue.heads is 3')
    refused(() => call({}, { both: [9, 2, 11] }), 'keyValue.dim is 11')
    refused(() => call({}, { rope: [8, 3] }), 'ropeKey.rows is 8')
    refused(() => call({}, { rope: [9, 9] }), 'ropeKey.columns is 9')
    refused(() => call({}, { queryDim: 1100, both: [9, 2, 1102] }), 'query.dim is 1100')
    const out = fp32([3, 2, 8])
    const options = { queryStart: [0, 3], contextLength: [3], keyStart: [0] }
    const both = fp32([3, 2, 8])
    refused(
      () => ops.expandedAttention(out, out, both, fp32([3, 8]), options),
      'out and query share memory',
    )
  })
})
